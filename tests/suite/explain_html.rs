//! The HTML page of explanations in a real browser: by mouse, by keyboard and by link.

use crate::browser::Browser;
use crate::sandbox::Sandbox;
use crate::what_is_needed::{BROWSER, needs};
use citree::Bundle;
use citree::explain::{Answer, By, Options, Question, html};
use citree::treebank::{Reader, Sentence};
use serde_json::json;

/// A word that would run script if it were not escaped, like the `sent_id` of its sentence.
const TREEBANK: &str = "\
# sent_id = dev-1
1\tThe\t_\t_\t_\t_\t2\tdet\t_\t_
2\tcat\t_\t_\t_\t_\t3\tnsubj\t_\t_
3\tsaw\t_\t_\t_\t_\t0\troot\t_\t_
4\tthe\t_\t_\t_\t_\t5\tdet\t_\t_
5\tdog\t_\t_\t_\t_\t3\tobj\t_\t_

# sent_id = <img src=x onerror=document.title=1>
1\t<script>document.title='taken'</script>\t_\t_\t_\t_\t2\tnsubj\t_\t_
2\tנפל\t_\t_\t_\t_\t0\troot\t_\t_

";

/// Explanations of the sentences by a small model. Of the second sentence, only the first word is explained.
fn explained(sandbox: &Sandbox) -> Vec<Answer> {
    sandbox.trained("t.citree");
    let explainer = Bundle::open(sandbox.path("t.citree")).unwrap().explainer().unwrap();
    let sentences: Vec<Sentence> = Reader::new(TREEBANK.as_bytes(), "page").collect::<Result<_, _>>().unwrap();
    let all = Options { count: 4, by: vec![By::Label, By::Prefix(1)], ..Options::default() };
    let first = Options { words: vec![1], ..all.clone() };
    let explain = |sentence: &Sentence, options| {
        let analysis = explainer.parser().analyse(std::slice::from_ref(sentence)).unwrap().remove(0).unwrap();
        explainer.answer(sentence, &analysis, &Question { options, ..Question::default() }, None).unwrap()
    };
    vec![explain(&sentences[0], all), explain(&sentences[1], first)]
}

#[test]
fn a_reader_opens_edges_by_mouse_keyboard_and_link_and_a_treebank_cannot_run_script() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = Sandbox::new();
    let explained = explained(&sandbox);
    let page = html::report(&explained, "Two sentences");
    let file = sandbox.path("page.html");
    std::fs::write(&file, &page).unwrap();

    browser.open(&file, "");
    the_policy_names_the_script(&browser);
    assert_eq!(browser.count("#s1 path.arc"), 5);
    assert_eq!(browser.count("#s2 path.arc"), 2);
    assert_eq!(browser.count("#s1 a.edge"), 5);
    assert!(browser.shows("#s1 .tree svg") && browser.shows("#s1 a.edge[href='#s1-e2'] .label"));
    arcs_and_words_do_not_collide(&browser);

    // By mouse: on the label, then on the word of another edge, then on that again.
    assert!(!browser.shows("#s1-e2 .citations") && !browser.shows("#s1-e5 .citations"));
    browser.click("a.edge[href='#s1-e2'] .label");
    assert!(browser.shows("#s1-e2 .citations mark.dep") && browser.shows("#s1-e2 .citations mark.head"));
    let edge = &explained[0].explanation.edges[1];
    assert_eq!(edge.attachment.citations.len(), 4);
    let cited = edge.attachment.citations.len() + edge.labelling.citations.len();
    assert_eq!(browser.count("#s1-e2 .citations li"), cited);
    let text = browser.text("#s1-e2");
    for expected in ["Why this head", "Why this label", "of the evidence", "Runner-up", "similarity"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("adds up to"), "sums by group open on request: {text}");
    browser.click("#s1-e2 details.roll-up summary");
    assert!(browser.text("#s1-e2").contains("adds up to"), "{}", browser.text("#s1-e2"));
    browser.click("a.edge[href='#s1-e5'] .word");
    assert!(browser.shows("#s1-e5 .citations") && !browser.shows("#s1-e2 .citations"));
    assert_eq!(browser.run("return location.hash"), "#s1-e5");
    browser.click("a.edge[href='#s1-e5'] .word");
    assert!(!browser.shows("#s1-e5"));
    assert_eq!(browser.run("return location.hash"), "");
    browser.run("return new Promise(done => { addEventListener('popstate', () => done()); history.back() })");
    assert!(browser.shows("#s1-e5"), "back opens what was open");

    // By keyboard: to the first edge and the second, Enter, Escape, Space.
    browser.open(&file, "");
    browser.press("\u{e004}");
    browser.press("\u{e004}");
    assert_eq!(browser.run("return document.activeElement.getAttribute('href')"), "#s1-e2");
    browser.press("\u{e007}");
    assert!(browser.shows("#s1-e2 .citations"));
    assert_eq!(browser.run("return document.activeElement.getAttribute('aria-expanded')"), "true");
    browser.press("\u{e00c}");
    assert!(!browser.shows("#s1-e2"));
    browser.press(" ");
    assert!(browser.shows("#s1-e2 .citations"));

    // By link.
    browser.open(&file, "#s1-e4");
    assert!(browser.shows("#s1-e4 .citations") && !browser.shows("#s1-e2"));

    // Hostile text is escaped, unexplained edges say so, and words have their own direction.
    browser.open(&file, "#s2-e1");
    assert_eq!(browser.run("return document.title"), "Two sentences");
    assert_eq!((browser.count("script"), browser.count("img")), (1, 0));
    assert_eq!(browser.text("#s2 h2"), "<img src=x onerror=document.title=1>");
    assert!(browser.text("#s2-e1 h3").contains("<script>document.title='taken'</script>"));
    assert_eq!(browser.count("#s2 a.edge"), 1);
    assert!(browser.text("#s2 > header").contains("1 edge not explained here"));

    // In print, and without scripts, everything is shown.
    browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert!(browser.shows("#s1-e2 .citations") && browser.shows("#s1-e5 .citations"));
    browser.devtools("Emulation.setEmulatedMedia", json!({ "media": "" }));
    browser.run("document.documentElement.classList.remove('js')");
    assert!(browser.shows("#s1-e2 .citations") && browser.shows("#s1-e5 .citations"));
    let wider = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    let phone = json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.run(wider), 0, "on a phone only trees scroll sideways");
}

#[test]
fn even_script_that_escaping_missed_does_not_run() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = Sandbox::new();
    let hole = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">";
    let page = html::report(&[], "Empty").replace("</main>", &format!("{hole}</main>"));
    sandbox.write("page.html", &page);
    browser.open(&sandbox.path("page.html"), "");
    assert_eq!(browser.count("script"), 2);
    assert_eq!(browser.run("return document.title"), "Empty");
    assert_eq!(browser.run("return document.documentElement.className"), "js");
}

/// Checks that the page's own script runs. If not, the message has the hash that the policy needs.
fn the_policy_names_the_script(browser: &Browser) {
    let hash = browser.run(
        "const script = new TextEncoder().encode(document.scripts[0].text);
         return crypto.subtle.digest('SHA-256', script).then(hash => btoa(String.fromCharCode(...new Uint8Array(hash))))",
    );
    let policy = browser.run("return document.querySelector('meta[http-equiv]').content");
    let (hash, policy) = (hash.as_str().unwrap(), policy.as_str().unwrap());
    assert!(policy.contains(&format!("'sha256-{hash}'")), "SCRIPT_HASH is now {hash}");
    assert_eq!(browser.run("return document.documentElement.className"), "js", "the script runs");
}

/// Checks that words do not touch and that labels lie inside their arcs, so that the estimated widths are sufficient.
fn arcs_and_words_do_not_collide(browser: &Browser) {
    let collisions = browser.run(
        "const boxes = [...document.querySelectorAll('#s1 .word')].map(word => word.getBoundingClientRect());
         const touching = boxes.filter((box, at) => at && box.left < boxes[at - 1].right + 2).length;
         const labels = [...document.querySelectorAll('#s1 .label')];
         const wide = labels.filter(label => {
             const pill = label.previousElementSibling.getBoundingClientRect();
             return label.getBoundingClientRect().width > pill.width;
         }).length;
         return touching + wide;",
    );
    assert_eq!(collisions, 0);
}
