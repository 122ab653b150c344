//! The laboratory: runs every experiment of the paper at a small size and compares its figures with those of other verbs.

use crate::sandbox::{Sandbox, TINY, stderr, stdout};
use citree::Bundle;
use citree::evaluate::evaluate;
use citree::internals::parser_as;
use citree::parse::{Decode, Settings};
use citree::treebank::starter;
use serde_json::Value;
use std::path::Path;

/// A sandbox with three genres.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write_treebank("train.conllu", &starter::train()[..113]);
    sandbox.write_treebank("dev.conllu", &starter::dev()[..24]);
    sandbox
}

/// The arguments of an experiment in a folder.
fn asking<'a>(experiment: &'a str, folder: &'a str) -> Vec<&'a str> {
    let treebanks = ["--train", "train.conllu", "--dev", "dev.conllu", "--config", "tiny.toml"];
    [&["lab", experiment, folder][..], &treebanks].concat()
}

fn run(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox.citree(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

fn report(folder: &Path, experiment: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(experiment).join("report.json")).unwrap()).unwrap()
}

/// The rows of a table by its name.
fn rows<'a>(report: &'a Value, table: &str) -> &'a Vec<Value> {
    let tables = report["tables"].as_array().unwrap();
    tables.iter().find(|own| own["name"] == table).unwrap_or_else(|| panic!("no table {table}"))["rows"]
        .as_array()
        .unwrap()
}

#[test]
fn the_whole_laboratory_runs_on_the_starter_treebank_and_its_figures_are_those_of_the_other_verbs() {
    let sandbox = sandbox();
    let args = [&asking("all", "lab")[..], &["--seeds", "1,2", "--draws", "3", "--source", "garden"]].concat();
    let printed = run(&sandbox, &args);
    let lab = sandbox.path("lab");
    let experiments = ["systems", "domains", "support-size", "subclass", "hubs", "neighbors", "rules"];
    for experiment in experiments {
        assert!(printed.contains(&format!("lab/{experiment}/report.md")), "{printed}");
        let page = std::fs::read_to_string(lab.join(experiment).join("report.md")).unwrap();
        assert!(page.contains("citree lab all") || page.contains("lab all lab"), "the command is on the page:\n{page}");
        assert!(!page.contains("NaN") && !page.contains("inf |"), "{page}");
        let report = report(&lab, experiment);
        let seeds = if ["systems", "domains", "subclass"].contains(&experiment) { vec![1, 2] } else { vec![1] };
        assert_eq!((&report["experiment"], &report["seeds"]), (&Value::from(experiment), &Value::from(seeds)));
        for table in report["tables"].as_array().unwrap() {
            let csv = lab.join(experiment).join(format!("{}.csv", table["name"].as_str().unwrap()));
            let lines = std::fs::read_to_string(&csv).unwrap().lines().count();
            assert_eq!(lines, 1 + table["rows"].as_array().unwrap().len(), "{}", csv.display());
        }
    }
    for drawing in ["support-size/support-size.svg", "hubs/hubs.svg", "neighbors/neighbors-IIc.svg", "rules/rules.svg"]
    {
        assert!(std::fs::read_to_string(lab.join(drawing)).unwrap().ends_with("</svg>\n"), "{drawing}");
    }
    the_six_systems_score_as_trained_bundles_do(&sandbox, &lab);
    the_six_systems_can_be_judged_by_a_test_set(&sandbox, &lab);
    deciding_by_instances_takes_the_weights_model_with_its_support(&sandbox, &lab);
    every_citation_is_counted_once(&lab);
    the_hubs_of_a_bundle_are_those_of_its_system(&sandbox, &lab);
    all_support_is_what_the_systems_decide_by(&lab);
    finished_work_is_not_repeated(&sandbox, &args);
}

fn the_six_systems_score_as_trained_bundles_do(sandbox: &Sandbox, lab: &Path) {
    let systems = report(lab, "systems");
    let seeds = rows(&systems, "seeds");
    assert_eq!(seeds.len(), 12);
    for (system, bundle) in [("IIc", "ic.citree"), ("WWd", "wd.citree")] {
        sandbox.trained_with(bundle, &["--system", system, "--seed", "2"]);
        let parsed = run(sandbox, &["parse", bundle, "dev.conllu", "--decode", "greedy"]);
        sandbox.write("parsed.conllu", &parsed);
        let scores: Value =
            serde_json::from_str(&run(sandbox, &["eval", "dev.conllu", "parsed.conllu", "--json"])).unwrap();
        let row = seeds.iter().find(|row| row[0] == system && row[1] == 2).unwrap();
        if system == "IIc" {
            the_rules_of_a_bundle_start_from_its_own_accuracy(sandbox, bundle, row);
            the_subclass_test_of_a_bundle_is_that_of_its_system(sandbox, lab, bundle);
        }
        for (column, name) in [(2, "uas"), (3, "las_subtypes")] {
            let wanted = scores["with_punctuation"][name]["f1"].as_f64().unwrap() * 100.0;
            let found = row[column].as_f64().unwrap();
            assert!((found - wanted).abs() < 1e-9, "{system} {name}: {found} in the laboratory, {wanted} as a bundle");
        }
    }
}

fn the_six_systems_can_be_judged_by_a_test_set(sandbox: &Sandbox, lab: &Path) {
    let trained = || std::fs::read_dir(lab.join("trained/1")).unwrap().count();
    let (models, on_dev) = (trained(), std::fs::read(lab.join("systems/report.json")).unwrap());
    sandbox.write_treebank("test.conllu", &starter::dev()[24..40]);
    run(sandbox, &[&asking("systems", "lab")[..], &["--seeds", "1,2", "--test", "test.conllu"]].concat());
    assert_eq!(trained(), models, "nothing is trained for it");
    let systems = report(lab, "systems");
    sandbox.write("parsed.conllu", &run(sandbox, &["parse", "ic.citree", "test.conllu", "--decode", "greedy"]));
    let scores: Value =
        serde_json::from_str(&run(sandbox, &["eval", "test.conllu", "parsed.conllu", "--json"])).unwrap();
    let row = rows(&systems, "seeds").iter().find(|row| row[0] == "IIc" && row[1] == 2).unwrap().clone();
    let wanted = scores["with_punctuation"]["las_subtypes"]["f1"].as_f64().unwrap() * 100.0;
    assert!((row[3].as_f64().unwrap() - wanted).abs() < 1e-9, "{row} in the laboratory, {wanted} as a bundle");
    let page = std::fs::read_to_string(lab.join("systems/report.md")).unwrap();
    assert!(page.contains(", test |") && page.contains("Kulmizev"), "{page}");
    assert_eq!(rows(&systems, "systems").len(), 1 + 14, "all languages of the paper, and their average");
    // As it was, for the checks that follow.
    std::fs::write(lab.join("systems/report.json"), on_dev).unwrap();
}

/// WIc is WWc's model of the same seed, deciding by the summed training edges.
fn deciding_by_instances_takes_the_weights_model_with_its_support(sandbox: &Sandbox, lab: &Path) {
    sandbox.trained_with("wc.citree", &["--system", "WWc", "--seed", "2"]);
    let bundle = Bundle::open(sandbox.path("wc.citree")).unwrap();
    let settings = Settings { decode: Decode::Greedy, ..Settings::default() };
    let parser = parser_as(&bundle, "WIc".parse().unwrap(), &starter::train()[..113], &settings).unwrap();
    let gold = starter::dev()[..24].to_vec();
    let mut parsed = gold.clone();
    let parses = parser.parse(&parsed).unwrap();
    parsed.iter_mut().zip(&parses).for_each(|(sentence, parse)| parse.annotate(sentence, false));
    let wanted = evaluate(&gold, &parsed).unwrap().with_punctuation.las_subtypes.f1 * 100.0;
    let systems = report(lab, "systems");
    let las = |system: &str| {
        let row = rows(&systems, "seeds").iter().find(|row| row[0] == system && row[1] == 2).unwrap();
        row[3].as_f64().unwrap()
    };
    assert!((las("WIc") - wanted).abs() < 1e-9, "{} in the laboratory, {wanted} by hand", las("WIc"));
    assert!((las("WIc") - las("WWc")).abs() > 1e-9, "what decides makes no difference");
}

fn the_rules_of_a_bundle_start_from_its_own_accuracy(sandbox: &Sandbox, bundle: &str, row: &Value) {
    run(sandbox, &[&asking("rules", "ruled")[..], &["--bundle", bundle]].concat());
    let rules = report(&sandbox.path("ruled"), "rules");
    let (found, wanted) = (rows(&rules, "accuracy")[0][2].as_f64().unwrap(), row[2].as_f64().unwrap());
    assert!((found - wanted).abs() < 1e-9, "UAS by the sum: {found} among the rules, {wanted} of the system");
    assert!(!sandbox.path("ruled/trained").exists(), "nothing is trained for it");
}

/// The bundle is the model of the same system and seed, so its index has the same nearest edges.
fn the_subclass_test_of_a_bundle_is_that_of_its_system(sandbox: &Sandbox, lab: &Path, bundle: &str) {
    run(sandbox, &[&asking("subclass", "tested")[..], &["--bundle", bundle]].concat());
    let tested = report(&sandbox.path("tested"), "subclass");
    let rows = rows(&tested, "subclass");
    assert_eq!((rows.len(), &rows[0][0]), (1, &Value::from("sum")), "its own rule is the sum");
    let mut measured = std::fs::read_dir(lab.join("measured/1")).unwrap().flatten();
    let wanted = measured.find_map(|own| std::fs::read_to_string(own.path().join("subclass-IIc-2.json")).ok()).unwrap();
    let [uas, subclass]: [f64; 2] = serde_json::from_str(&wanted).unwrap();
    assert_eq!((rows[0][1].as_f64(), rows[0][3].as_f64()), (Some(subclass), Some(uas)));
    let by_labels = rows[0][2].as_f64().unwrap();
    assert!(
        by_labels > subclass && by_labels <= uas,
        "{by_labels} by the model that learnt labels, {subclass} by heads"
    );
    assert!(!sandbox.path("tested/trained").exists(), "nothing is trained for it");
}

fn the_hubs_of_a_bundle_are_those_of_its_system(sandbox: &Sandbox, lab: &Path) {
    sandbox.trained_with("first.citree", &["--system", "IIc", "--seed", "1"]);
    run(sandbox, &[&asking("hubs", "counted")[..], &["--bundle", "first.citree"]].concat());
    let counts = |path: &Path| std::fs::read_to_string(path).unwrap();
    let of_bundle = |name: &str| counts(&sandbox.path("counted/hubs").join(format!("counts-{name}.csv")));
    assert_eq!(of_bundle("heads"), counts(&lab.join("hubs/counts-IIc.csv")));
    assert_ne!(of_bundle("labels"), of_bundle("heads"), "two spaces");
    let hubs = report(&sandbox.path("counted"), "hubs");
    for (row, space) in rows(&hubs, "hubs").iter().zip(["heads", "labels"]) {
        let text = of_bundle(space);
        let numbers = || text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap());
        assert_eq!((&row[0], row[1].as_u64()), (&Value::from(space), numbers().max()));
        assert_eq!(numbers().sum::<u64>(), 10 * hubs["treebank"]["dev_words"].as_u64().unwrap(), "{space}");
    }
    assert!(sandbox.path("counted/hubs/hubs.svg").exists() && !sandbox.path("counted/trained").exists());
}

fn every_citation_is_counted_once(lab: &Path) {
    let words = |report: &Value| report["treebank"]["dev_words"].as_u64().unwrap();
    let hubs = report(lab, "hubs");
    for system in ["WId", "WIc", "IId", "IIc"] {
        let counts = std::fs::read_to_string(lab.join("hubs").join(format!("counts-{system}.csv"))).unwrap();
        let total: u64 =
            counts.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(total, 10 * words(&hubs), "{system}");
        let highest = rows(&hubs, "hubs").iter().find(|row| row[0] == system).unwrap()[1].as_u64().unwrap();
        let most = counts.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap()).max();
        assert_eq!(Some(highest), most, "{system}");
    }
    for table in ["labels", "genres"] {
        let shares: f64 = rows(&hubs, table).iter().map(|row| row[6].as_f64().unwrap()).sum();
        assert!((shares - 100.0).abs() < 1e-6, "{table}: {shares} % of citations");
    }
}

/// The model that `support-size` draws sentences for is that of `domains`, and so is its accuracy with all sentences.
fn all_support_is_what_the_systems_decide_by(lab: &Path) {
    let (domains, sizes) = (report(lab, "domains"), report(lab, "support-size"));
    let trained = domains["trainings"].as_array().unwrap();
    assert_eq!(trained.len(), 8, "four systems, two seeds, heads alone: {trained:?}");
    assert_eq!(rows(&sizes, "support-size").len(), 3, "two genres and their average");
    let only_first = rows(&sizes, "support-size").iter().all(|row| row[4].is_null());
    assert!(only_first, "36 sentences cannot be drawn a hundred at a time");
    for row in rows(&sizes, "support-size").iter().take(2) {
        let all = row[5].as_f64().unwrap();
        assert!((0.0..=100.0).contains(&all), "{row}");
        let same = rows(&domains, "domains").iter().find(|other| other[0] == row[0]).unwrap();
        let mean = same[5]["mean"].as_f64().unwrap();
        let spread = same[5]["deviation"].as_f64().unwrap();
        // Of two values each is as far from their mean as the deviation divided by √2.
        assert!(((all - mean).abs() - spread / 2f64.sqrt()).abs() < 1e-6, "{row} and {same}");
    }
}

fn finished_work_is_not_repeated(sandbox: &Sandbox, args: &[&str]) {
    let path = |name: &str| sandbox.path("lab").join(name);
    let files = |name: &str| {
        let mut found = Vec::new();
        let mut folders = vec![path(name)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                match entry.is_dir() {
                    true => folders.push(entry),
                    false => found.push((entry.metadata().unwrap().modified().unwrap(), entry)),
                }
            }
        }
        found.retain(|(_, path)| path.extension().is_none_or(|kind| kind != "jsonl"));
        found.sort();
        found
    };
    let (trained, measured) = (files("trained"), files("measured"));
    let page = std::fs::read_to_string(path("hubs/report.md")).unwrap();
    run(sandbox, args);
    assert!(files("trained") == trained, "a second run trained again");
    assert!(files("measured") == measured, "a second run measured again");
    assert_eq!(std::fs::read_to_string(path("hubs/report.md")).unwrap(), page);
}

#[cfg(unix)]
#[test]
fn an_experiment_stopped_by_ctrl_c_continues_with_the_same_command_to_the_same_figures() {
    let sandbox = sandbox();
    sandbox.write("tiny.toml", &TINY.replace("epochs = 3", "epochs = 8"));
    let args = [&asking("subclass", "stopped")[..], &["--seeds", "1"]].concat();
    let mut child = sandbox.command(&args).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let trained = sandbox.path("stopped/trained/1");
    let begun = || {
        let mut folders = std::fs::read_dir(&trained).into_iter().flatten().flatten();
        folders.any(|folder| folder.path().join("heads-WWd-1").join("heads.checkpoint").exists())
    };
    while !begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be stopped");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("lab subclass stopped"), "says how to go on: {}", stderr(&output));
    assert!(!sandbox.path("stopped/subclass").exists(), "no report of what is not finished");
    run(&sandbox, &args);
    run(&sandbox, &[&asking("subclass", "undisturbed")[..], &["--seeds", "1"]].concat());
    let figures = |folder: &str| report(&sandbox.path(folder), "subclass")["tables"].clone();
    assert_eq!(figures("stopped"), figures("undisturbed"));
}

#[test]
fn unsupported_treebanks_and_configurations_are_refused_with_a_reason() {
    let sandbox = sandbox();
    sandbox.write_treebank("train.conllu", &starter::train()[..30]);
    sandbox.write_treebank("dev.conllu", &starter::dev()[..8]);
    for (args, reason) in [
        (asking("domains", "lab"), "one genre only"),
        ([&asking("domains", "lab")[..], &["--source", "poetry"]].concat(), "no sentences of genre poetry"),
        ([&asking("systems", "lab")[..], &["--preset", "joint"]].concat(), "an encoder of its own"),
        (asking("everything", "lab"), "there are systems, domains"),
        ([&asking("hubs", "lab")[..], &["--test", "dev.conllu"]].concat(), "--test is for systems"),
        ([&asking("subclass", "lab")[..], &["--seeds", "1,1"]].concat(), "each only once"),
        ([&asking("hubs", "lab")[..], &["--epochs", "0"]].concat(), "at least one epoch"),
        ([&asking("all", "lab")[..], &["--bundle", "x.citree"]].concat(), "--bundle is for subclass, hubs and rules"),
    ] {
        let output = sandbox.citree(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(reason), "{args:?}: {}", stderr(&output));
    }
    assert!(!sandbox.path("lab/trained").exists(), "refused before anything is trained");
}

#[test]
fn a_dev_set_that_changed_is_measured_again_and_the_models_are_kept() {
    let sandbox = sandbox();
    let args = [&asking("domains", "lab")[..], &["--seeds", "1", "--source", "garden"]].concat();
    let tested = |sandbox: &Sandbox| {
        run(sandbox, &args);
        let report = report(&sandbox.path("lab"), "domains");
        let uas = |row: &Value| row[5]["mean"].as_f64().unwrap_or_else(|| panic!("no UAS of IIc in {row}"));
        rows(&report, "domains").iter().map(|row| (row[0].clone(), uas(row))).collect::<Vec<_>>()
    };
    assert_eq!(tested(&sandbox).len(), 4, "two genres, their average and the source");
    let models = || std::fs::read_dir(sandbox.path("lab/trained/1")).unwrap().count();
    assert_eq!(models(), 1);
    // Adds a genre to test on. The data that the models learned from does not change.
    sandbox.write_treebank("dev.conllu", &starter::dev()[..32]);
    let after = tested(&sandbox);
    assert_eq!(after.len(), 5, "{after:?}");
    assert!(after.iter().all(|(_, uas)| (0.0..=100.0).contains(uas)), "{after:?}");
    assert_eq!(models(), 1);
}

#[test]
fn sent_ids_without_genres_leave_domains_out_and_test_support_on_the_whole_dev_set() {
    let sandbox = sandbox();
    let renamed = |name: &str, sentences: &[citree::treebank::Sentence]| {
        let mut sentences = sentences.to_vec();
        for (at, sentence) in sentences.iter_mut().enumerate() {
            sentence.set_comment("sent_id", &format!("{name}-s{at}"));
        }
        sandbox.write_treebank(&format!("{name}.conllu"), &sentences);
    };
    renamed("train", &starter::train()[..40]);
    renamed("dev", &starter::dev()[..10]);
    run(&sandbox, &[&asking("support-size", "lab")[..], &["--draws", "2"]].concat());
    let sizes = report(&sandbox.path("lab"), "support-size");
    assert_eq!(rows(&sizes, "support-size")[0][0], "dev");
    let output = sandbox.citree(&asking("domains", "lab"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("one genre only"), "{}", stderr(&output));
}

#[test]
fn a_bundle_of_another_treebank_is_refused_and_so_is_one_of_the_same_sentences_in_another_order() {
    let sandbox = sandbox();
    sandbox.trained("all.citree");
    let mut reversed = starter::train()[..113].to_vec();
    reversed.reverse();
    for other in [&starter::train()[..50], &reversed] {
        sandbox.write_treebank("train.conllu", other);
        for experiment in ["rules", "subclass", "hubs"] {
            let output = sandbox.citree(&[&asking(experiment, "lab")[..], &["--bundle", "all.citree"]].concat());
            assert_eq!(output.status.code(), Some(2), "{experiment}");
            assert!(stderr(&output).contains("another treebank"), "{experiment}: {}", stderr(&output));
        }
    }
}
