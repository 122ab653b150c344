//! The served page in a real browser. If `CITREE_SCREENSHOTS` names a folder, the tests write the pictures of the
//! documentation to it. `CITREE_PAGE_BUNDLE` names the bundle to serve; by default it is the frozen one.

use crate::browser::Browser;
use crate::frozen::thawed;
use crate::sandbox::Sandbox;
use crate::server::Server;
use crate::what_is_needed::{BROWSER, needs};
use citree::treebank::{Sentence, starter};
use serde_json::json;
use std::path::PathBuf;

const TEXT: &str = "Anna didn't find the old letters in the kitchen.";
/// The word whose edge is explained.
const WORD: &str = "10";

fn served() -> (Sandbox, Server) {
    let sandbox = thawed();
    let bundle = match std::env::var("CITREE_PAGE_BUNDLE") {
        Ok(bundle) => std::env::current_dir().unwrap().join(bundle).display().to_string(),
        Err(_) => "en.citree".to_string(),
    };
    let server = Server::start(&sandbox, &bundle, &[]);
    (sandbox, server)
}

fn picture(browser: &Browser, name: &str, width: u32, height: u32) {
    let Some(folder) = std::env::var_os("CITREE_SCREENSHOTS") else { return };
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
    browser.devtools("Emulation.setDeviceMetricsOverride", size);
    browser.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
    browser.run("scrollTo(0, 0)");
    browser.screenshot(&PathBuf::from(folder).join(name));
    browser.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": false }));
    browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}));
}

/// The address of the page, to open it again.
fn address(browser: &Browser) -> String {
    browser.run("return location.href").as_str().unwrap().to_string()
}

const PANEL: &str = "document.querySelector('#panel .citations li')";
/// Whether the edge in the address is open, with its neighbours.
const OPEN: &str = "document.querySelector('#result .panel h3') && new URLSearchParams(location.hash.slice(1)).get('word') \
                    === document.querySelector('#result a.edge.open')?.dataset.edge";
const TREE: &str = "document.querySelectorAll('#result a.edge').length";

#[test]
fn a_sentence_is_typed_an_edge_clicked_its_sources_read_and_the_link_shared() {
    needs!(BROWSER);
    let browser = Browser::start();
    let (_sandbox, server) = served();
    browser.visit(&server.url("/"));
    browser.wait_for("document.querySelector('#bundle').textContent.includes('training edges')");
    browser.type_into("#text", TEXT);
    browser.click("#ask button[type=submit]");
    browser.wait_for(&format!("{TREE} === 11"));
    assert!(browser.text("#status").contains("11 words"), "what is there is said, not only drawn");
    assert!(!browser.shows("#panel") && browser.shows("#downloads"));
    let marked = browser.count("#result a.edge.doubtful");
    assert!(browser.text("#result header").contains("suspicious"));
    assert_eq!(browser.count("#result a.edge[aria-label$='suspicious']"), marked);

    // By mouse: citations, each once with its words marked; sums as bars; coverage in a sentence.
    browser.click(&format!("#result a.edge[data-edge='{WORD}'] .word"));
    browser.wait_for(PANEL);
    let citations = browser.count("#panel .citations li");
    assert!(citations >= 11, "ten of the head, and some of the label: {citations}");
    for part in ["mark.dep", "mark.head", "a[data-cited]"] {
        assert_eq!(browser.count(&format!("#panel .citations li {part}")), citations, "{part}");
    }
    let text = browser.text("#panel");
    for expected in [
        "‘kitchen’ is",
        "Why this head",
        "Why this label",
        "of the evidence",
        "training edges count",
        "By label",
        "By genre",
    ] {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    assert!(browser.count("#panel .chart rect") > 4 && browser.count("#panel .odds rect") >= 6);
    assert_eq!(browser.run("return document.querySelector('#result a.edge.open').dataset.edge"), WORD);
    picture(&browser, "page.png", 1200, 1180);

    // Why not another head: one click, and another for a label.
    browser.click("#panel .sides section:first-child a.why");
    browser.wait_for("document.querySelector('#panel .contrast .citations li')");
    let contrast = browser.text("#panel .contrast");
    assert!(contrast.contains("Why is the head of ‘kitchen’") && contrast.contains("argue for"), "{contrast}");
    picture(&browser, "page-why-not.png", 1200, 1180);
    browser.click("#panel > div > .sides section:last-child a.why");
    browser.wait_for("document.querySelector('#panel .contrast h4')?.textContent.includes('label of')");

    // The address opens the same view, and the back button goes back.
    let shared = address(&browser);
    browser.visit(&shared);
    browser.wait_for("document.querySelector('#panel .contrast h4')");
    assert!(browser.text("#panel .contrast").contains("label of ‘kitchen’"));
    assert_eq!(browser.run("return document.querySelector('#text').value"), TEXT);
    browser.click("#panel .contrast .close");
    browser.wait_for("!document.querySelector('#panel .contrast') && document.querySelector('#panel .citations')");
    browser.run("history.back()");
    browser.wait_for("document.querySelector('#panel .contrast h4')");

    // Another rule, fewer citations.
    browser.run("document.querySelector('#rule').value = 'knn'; document.querySelector('#rule').dispatchEvent(new Event('change'))");
    browser.wait_for(
        "document.querySelector('#result header')?.textContent.includes('the 20 nearest training edges vote')",
    );
    browser.wait_for(PANEL);
    assert!(browser.shows("#neighbors") && !browser.shows("#temperature"));
    assert!(address(&browser).contains("rule=knn"));
    browser.run("document.querySelector('#count').value = 3; document.querySelector('#count').dispatchEvent(new Event('change'))");
    browser.wait_for("document.querySelector('#panel .sides section:first-child .citations')?.children.length === 3");
    let none_blocked =
        "return performance.getEntriesByType('resource').every(one => one.name.startsWith(location.origin))";
    assert_eq!(browser.run(none_blocked), json!(true), "nothing from elsewhere");
}

#[test]
fn gold_edges_are_shown_for_a_head_and_rejected_edges_against_it() {
    needs!(BROWSER);
    let sandbox = thawed();
    sandbox.write_treebank("forty.conllu", &starter::train()[..40]);
    assert!(sandbox.citree(&["index", "en.citree", "--treebank", "forty.conllu"]).status.success());
    let server = Server::start(&sandbox, "en.citree", &[]);
    let browser = Browser::start();
    browser.visit(&server.url("/#text=Anna+found+the+old+letters+in+the+kitchen.&rule=knn&edge=8"));
    browser.wait_for(PANEL);
    let heading = |start: &str| {
        format!(
            "[...document.querySelectorAll('#panel .sides section:first-child h5')].some(one => one.textContent.startsWith('{start}'))"
        )
    };
    browser.wait_for(&heading("For "));
    browser.wait_for(&heading("Against "));
    let rejected = "document.querySelector('#panel .sides section:first-child .citations .rejected')";
    browser.wait_for(&format!("{rejected}?.textContent === 'not this head'"));
    assert!(browser.text("#panel .sides section:first-child").contains("really "), "the head that it has is named");
    // The way from a rejected edge leads to its word in the gold tree.
    browser.run(&format!("{rejected}.closest('li').querySelector('a[data-sent]').click()"));
    browser.wait_for("document.querySelector('article.training')");
}

#[test]
fn typed_and_loaded_text_is_kept_and_can_be_downloaded() {
    needs!(BROWSER);
    let browser = Browser::start();
    let (_sandbox, server) = served();
    browser.visit(&server.url("/#text=It+rained.&edge=1"));
    browser.wait_for(PANEL);
    browser.click("body");
    browser.run("document.querySelector('.skip').click()");
    assert_eq!(browser.run("return document.activeElement.id"), "result");
    assert!(browser.shows("#panel .citations"), "skipping to the result takes nothing away");
    // A rule chosen after typing applies to the typed text.
    browser.run("document.querySelector('#text').value = 'Tom sleeps well.'");
    browser.run("document.querySelector('#rule').value = 'nca'; document.querySelector('#rule').dispatchEvent(new Event('change'))");
    browser.wait_for(
        "document.querySelector('#result header')?.textContent.includes('exp(64') && location.hash.includes('Tom')",
    );
    // Invalid numbers are refused in their input fields.
    browser.run("document.querySelector('#count').value = 0; document.querySelector('#count').dispatchEvent(new Event('change'))");
    assert!(!address(&browser).contains("k=0"));
    // Downloads keep the columns and the sent_id of CoNLL-U.
    browser.run("window.saved = []; URL.createObjectURL = blob => { saved.push(blob); return 'blob:none' }; document.querySelector('#count').value = 5");
    let conllu = "# sent_id = my-1\n# text = Don't!\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tDo\tdo\tAUX\t_\t_\t_\t_\t_\t_\n2\tn't\tnot\tPART\t_\t_\t_\t_\t_\t_\n3\t!\t!\tPUNCT\t_\t_\t_\t_\t_\t_\n\n";
    browser.run(&format!(
        "document.querySelector('#text').value = {conllu:?}; document.querySelector('#ask').requestSubmit()"
    ));
    browser.wait_for("document.querySelector('#result h2')?.textContent === 'my-1'");
    let types = ["text/x-conllu", "application/json", "image/svg+xml", "text/html"];
    for (count, kind) in (1..).zip(types) {
        browser.click(&format!("#downloads [data-accept='{kind}']"));
        browser.wait_for(&format!("saved.length === {count}"));
    }
    let texts = browser.run("return Promise.all(saved.map(blob => blob.text()))");
    let text = |at: usize| texts[at].as_str().unwrap();
    assert!(
        text(0).contains("1-2\tDon't") && text(0).contains("2\tn't\tnot\tPART") && text(0).contains("Cite="),
        "{}",
        text(0)
    );
    assert!(text(1).contains("\"sent_id\":\"my-1\""));
    assert!(text(2).starts_with("<svg") && text(3).starts_with("<!DOCTYPE html>"));
    // Invalid parts of an address are ignored or reported.
    browser.visit(&server.url("/#text=It+rained.&rule=bogus&k=many&edge=none"));
    browser.wait_for(&format!("{TREE} === 3"));
    assert_eq!((browser.text("#alert"), browser.shows("#panel")), (String::new(), false));
    browser.visit(&server.url("/#text=It+rained.&edge=99"));
    browser.wait_for("document.querySelector('#alert').textContent.includes('there is no word 99')");
    assert!(browser.shows("#result .tree") && !browser.shows("#panel"));
    browser.visit(&server.url("/#sent=nowhere"));
    browser.wait_for("document.querySelector('#alert').textContent.includes('no training sentence')");
}

#[test]
fn citations_lead_to_training_sentences_and_from_there_to_neighbours() {
    needs!(BROWSER);
    let browser = Browser::start();
    let (_sandbox, server) = served();
    browser.visit(&server.url(&format!("/#text={}&edge={WORD}", TEXT.replace(' ', "+").replace('\'', "%27"))));
    browser.wait_for(PANEL);
    browser.click("#panel .citations li:first-child a[data-cited]");
    browser.wait_for(
        "document.querySelector('#result .training') && document.querySelector('#result .panel .citations li')",
    );
    let first = browser.text("#result .training h2");
    assert!(address(&browser).contains("sent="));
    assert_eq!(browser.count("#result a.edge.gold"), browser.count("#result a.edge"), "people made this tree");
    assert!(
        !browser
            .run("return document.querySelector('#result a.edge').getAttribute('aria-label')")
            .to_string()
            .contains('%')
    );
    picture(&browser, "page-treebank.png", 1200, 900);
    let own = "document.querySelector('#result .training h2')?.textContent";
    browser.click("#result .panel .citations li:first-child a[data-cited]");
    browser.wait_for(&format!("document.querySelector('#result .training') && !{first:?}.endsWith({own})"));
    let second = browser.text("#result .training h2");
    // Another edge of this sentence.
    browser.click("#result a.edge:not(.open) .word");
    browser.wait_for(OPEN);
    assert_eq!(browser.text("#result .training h2"), second);
    browser.visit(&address(&browser));
    browser.wait_for(OPEN);
    assert_eq!(browser.text("#result .training h2"), second, "a link to a training edge lasts");
    // Find a sentence by its text.
    browser.click("#to-treebank");
    browser.wait_for("document.querySelectorAll('#result .found li').length === 20");
    browser.type_into("#find", starter::train()[30].text().unwrap());
    browser.click("#look button");
    browser.wait_for("document.querySelectorAll('#result .found li').length === 1");
    browser.click("#result .found li:first-child a");
    browser.wait_for("document.querySelector('#result .training')");
}

#[test]
fn a_file_of_sentences_shows_where_to_look_and_keeps_their_words() {
    needs!(BROWSER);
    let browser = Browser::start();
    let (sandbox, server) = served();
    browser.visit(&server.url("/"));
    browser.type_into("#file", sandbox.path("dev.conllu").to_str().unwrap());
    browser.wait_for("document.querySelectorAll('#list .items li').length === 20");
    browser.wait_for("![...document.querySelectorAll('#list .flag')].some(flag => flag.textContent === '…')");
    let dev: Vec<Sentence> = starter::dev()[..20].to_vec();
    let words = dev[0].words().len();
    browser.wait_for(&format!("{TREE} === {words}"));
    assert_eq!(browser.text("#result h2"), dev[0].sent_id().unwrap());
    browser.click("#list button");
    let lowest = browser.run(
        "return [...document.querySelectorAll('#list .flag')].map(flag => parseInt(flag.textContent.split('lowest ')[1] ?? 100))",
    );
    let lowest: Vec<i64> = lowest.as_array().unwrap().iter().map(|one| one.as_i64().unwrap()).collect();
    assert!(lowest.is_sorted() && lowest[0] < 80, "{lowest:?}");
    browser.click("#list .items li:first-child a");
    browser.wait_for("document.querySelector('#list .items li:first-child a').getAttribute('aria-current')");
    browser.wait_for("document.querySelector('#result a.edge.doubtful')");
}

#[test]
fn the_page_works_by_keyboard_in_dark_mode_on_a_phone_and_from_right_to_left() {
    needs!(BROWSER);
    let browser = Browser::start();
    let (_sandbox, server) = served();
    let start = server.url(&format!("/#text={}", TEXT.replace(' ', "+").replace('\'', "%27")));
    browser.visit(&start);
    browser.wait_for(&format!("{TREE} === 11"));
    // By keyboard: to an edge, Enter, Escape, Space.
    browser.run("document.querySelector('#result a.edge[data-edge=\"2\"]').focus()");
    browser.press("\u{e004}");
    assert_eq!(browser.run("return document.activeElement.dataset.edge"), "3");
    browser.press("\u{e007}");
    browser.wait_for(PANEL);
    assert_eq!(browser.run("return document.activeElement.getAttribute('aria-expanded')"), "true");
    browser.press("\u{e00c}");
    browser.wait_for("document.querySelector('#panel').hidden");
    assert_eq!(browser.run("return document.activeElement.dataset.edge"), "3", "the focus stays where it was");
    browser.press(" ");
    browser.wait_for(PANEL);
    let unnamed = "return [...document.querySelectorAll('input, select, textarea, button, a')].filter(one => \
                   !(one.textContent.trim() || one.labels?.length || one.getAttribute('aria-label'))).map(one => one.outerHTML)";
    assert_eq!(browser.run(unnamed), json!([]), "everything that can be used has a name");

    // In dark mode.
    let ground = "return getComputedStyle(document.body).backgroundColor";
    let dark = |scheme: &str| {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.devtools("Emulation.setEmulatedMedia", json!({ "features": features }));
        browser.run(ground)
    };
    assert_eq!(dark("light"), "rgb(244, 245, 247)");
    assert_eq!(dark("dark"), "rgb(18, 22, 28)");
    let readable = browser.run(
        "const light = css => { const [r, g, b] = css.match(/\\d+/g).map(Number).map(c => c / 255)
             .map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
         const card = light(getComputedStyle(document.querySelector('#panel')).backgroundColor);
         return [...document.querySelectorAll('#panel :is(p, li, dt, dd, th, td, a, h3), #result .label, #result .word')]
             .map(one => light(one.closest('svg') ? getComputedStyle(one).fill : getComputedStyle(one).color))
             .map(ink => (Math.max(ink, card) + .05) / (Math.min(ink, card) + .05)).sort((a, b) => a - b)[0]",
    );
    assert!(readable.as_f64().unwrap() >= 4.5, "contrast {readable}");
    picture(&browser, "page-dark.png", 1200, 900);
    dark("light");

    // On a phone only trees and snippets scroll sideways, and the open edge is in view.
    let phone = json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", phone);
    browser.visit(&format!("{start}&edge={WORD}"));
    browser.wait_for(PANEL);
    let wider = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.run(wider), 0);
    let place = browser.run("return document.querySelector('#result a.edge.open .word').getBoundingClientRect().left");
    assert!((0.0..360.0).contains(&place.as_f64().unwrap()), "{place}");
    browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}));

    // From right to left, and long.
    browser.visit(&server.url("/#text=הילד+אכל+תפוח+אדום"));
    browser.wait_for(&format!("{TREE} === 4"));
    let lefts = browser
        .run("return [...document.querySelectorAll('#result .word')].map(word => -word.getBoundingClientRect().left)");
    let lefts: Vec<f64> = lefts.as_array().unwrap().iter().map(|left| left.as_f64().unwrap()).collect();
    assert!(lefts.is_sorted(), "the first word stands at the right: {lefts:?}");
    browser.visit(&server.url(&format!("/#text={}", vec!["word"; 120].join("+"))));
    browser.wait_for(&format!("{TREE} === 120"));
    let scrolls = "const tree = document.querySelector('#result .tree'); return tree.scrollWidth > tree.clientWidth";
    assert_eq!((browser.run(wider), browser.run(scrolls)), (json!(0), json!(false)), "a long tree runs downwards");
}

#[test]
fn a_hostile_treebank_and_a_hostile_sentence_are_text() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = Sandbox::new();
    let attack = "<script>document.title='taken'</script><img src=x onerror=document.title='taken'>";
    let mut hostile: Vec<Sentence> = starter::train()[..60].to_vec();
    for (number, sentence) in hostile.iter_mut().enumerate() {
        sentence.set_comment("sent_id", &format!("{attack}\"'{number}"));
        sentence.words_mut()[0].form = attack.to_string();
        sentence.words_mut().last_mut().unwrap().label = "<b/onclick=alert(1)>".to_string();
    }
    sandbox.write_treebank("train.conllu", &hostile);
    sandbox.trained("t.citree");
    let server = Server::start(&sandbox, "t.citree", &[]);
    let fetched = [
        server.post("/view/sentence", &json!({ "words": [attack, "b"] })),
        server.post("/view/edge", &json!({ "words": [attack, "b"], "edges": [1], "why_not": ["2:0", "1:0", "1:2"], "by": ["dependent", "genre"] })),
        server.get("/view/training?sentence=3&word=1"),
        server.get("/view/find?find="),
    ];
    for answer in &fetched {
        assert_eq!((answer.status, answer.kind.as_str()), (200, "text/html; charset=utf-8"), "{answer:?}");
        for raw in ["<script", "<img", "<b/onclick", " style=", " onerror=document"] {
            let text = answer.body.replace("&lt;img src=x onerror=document", "");
            assert!(!text.contains(raw), "{raw} in {text}");
        }
        assert!(answer.body.contains("&lt;script&gt;"));
    }
    let words = format!("{attack}\tb\tc").bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    browser.visit(&server.url(&format!("/#words={words}&edge=1&why=2%3A0")));
    browser.wait_for(PANEL);
    browser.click("#panel .citations li:first-child a[data-cited]");
    browser.wait_for("document.querySelector('#result .training')");
    browser.click("#to-treebank");
    browser.wait_for("document.querySelector('#result .found li')");
    assert!(browser.text("#result .found li").contains("<img src=x"));
    assert_eq!((browser.count("body script"), browser.count("body img"), browser.count("body b[onclick]")), (0, 0, 0));
    assert_ne!(browser.run("return document.title"), "taken");
    // Even unescaped script would not run.
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title = `taken`\">')");
    browser.wait_for("document.querySelector('body img').complete");
    assert_ne!(browser.run("return document.title"), "taken");
}
