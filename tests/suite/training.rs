//! Training: the same seed gives the same bytes, and an interrupted run loses nothing.

use crate::sandbox::{Sandbox, model_files, stderr, stdout};
use citree::Pretrained;
use citree::config::{Config, Preset};
use citree::evidence::Step;
use citree::train::{Flow, Observer, Plan, Start, StepReport, train};
use citree::treebank::starter;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Waits until a running training has written a file.
#[cfg(unix)]
fn wait_for(path: &Path, child: &mut Child) {
    while !path.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the training ended before it wrote {}", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_one_thread_and_with_two() {
    let sandbox = Sandbox::new();
    let train = |bundle: &str, more: &[&str]| {
        let output = sandbox.citree(&[&sandbox.training(bundle)[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        model_files(&sandbox.path(bundle))
    };
    let one = train("one.citree", &["--threads", "1"]);
    assert_eq!(one.len(), 5, "config, tables, text, heads, labels");
    assert!(one == train("two.citree", &["--threads", "2"]), "two threads differ from one");
    assert!(one != train("other.citree", &["--threads", "2", "--seed", "7"]), "another seed changes nothing");
}

#[test]
fn a_run_killed_at_any_moment_resumes_to_the_result_of_an_undisturbed_one() {
    let sandbox = Sandbox::new();
    let started = Instant::now();
    sandbox.train_anew("undisturbed.citree", &[]);
    let undisturbed = started.elapsed();
    let mut kills = 0;
    let mut resume: &[&str] = &[];
    // Each attempt is killed a little later than the one before, until one finishes.
    for round in 1..200 {
        let args = [&sandbox.training("killed.citree")[..], resume].concat();
        let mut child = sandbox.command(&args).stderr(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + undisturbed.mul_f64(0.03 * f64::from(round));
        let finished = loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "round {round}: {status}");
                break true;
            }
            if Instant::now() >= deadline {
                break false;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if finished {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        resume = if sandbox.path("killed.citree/training/config.toml").exists() { &["--resume"] } else { &[] };
        if resume.is_empty() && sandbox.path("killed.citree").exists() {
            std::fs::remove_dir_all(sandbox.path("killed.citree")).unwrap();
        }
    }
    assert!(kills >= 3, "killed only {kills} times");
    assert!(model_files(&sandbox.path("undisturbed.citree")) == model_files(&sandbox.path("killed.citree")));
}

#[test]
fn a_training_for_a_time_is_that_of_the_epochs_which_it_names_and_too_short_a_time_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write_treebank("train.conllu", &starter::train()[..12]);
    let train = |more: &[&str], bundle: &str| sandbox.citree(&[&sandbox.training(bundle)[..], more].concat());
    let output = train(&["--time", "1h"], "hour.citree");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("60 epochs: each takes about"), "{}", stderr(&output));
    assert_eq!(train(&["--epochs", "60"], "sixty.citree").status.code(), Some(0));
    assert!(model_files(&sandbox.path("hour.citree")) == model_files(&sandbox.path("sixty.citree")));
    for (more, reason) in [
        (&["--time", "1us"][..], "not one epoch fits into the time"),
        (&["--time", "soon"], "expected number"),
        (&["--time", "1h", "--epochs", "3"], "cannot be used with"),
    ] {
        let output = train(more, "short.citree");
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains(reason), "{more:?}: {}", stderr(&output));
        assert!(!sandbox.path("short.citree").exists(), "{more:?} left something behind");
    }
}

#[test]
fn the_epochs_that_fit_into_a_time_are_found_unless_it_is_stopped() {
    let config = Config { epochs: 1, ..Config::preset(Preset::Demo) };
    let (train_set, dev) = (starter::train()[..30].to_vec(), starter::dev()[..8].to_vec());
    let (none, device) = (Pretrained::default(), citree::Device::CPU);
    let plan = Plan { config: &config, pretrained: &none, train: &train_set, dev: &dev, device: &device };
    let pace = plan.epochs_within(Duration::from_secs(3600), &|| Flow::Continue).unwrap().unwrap();
    // From here on, with what was measured.
    let time = pace.epoch * 5 + pace.end;
    assert!(pace.epochs == 60 && pace.epoch > Duration::ZERO && pace.end > Duration::ZERO, "{pace:?}");
    assert!(plan.epochs_within(time, &|| Flow::Continue).map_or(0, |pace| pace.unwrap().epochs) < 60);
    assert_eq!(plan.epochs_within(time, &|| Flow::Stop).unwrap(), None);
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_after_the_batch_says_how_to_continue_and_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("tiny.toml", &crate::sandbox::TINY.replace("epochs = 3", "epochs = 12"));
    sandbox.train_anew("undisturbed.citree", &[]);
    let args = sandbox.training("stopped.citree");
    let mut child = sandbox.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    // In the middle of an epoch, after the first checkpoint.
    wait_for(&sandbox.path("stopped.citree/training/heads.checkpoint"), &mut child);
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));

    let again = sandbox.citree(&args);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--resume"), "{}", stderr(&again));

    let resumed = sandbox.citree(&[&args[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!(model_files(&sandbox.path("undisturbed.citree")) == model_files(&sandbox.path("stopped.citree")));
    let metrics = std::fs::read_to_string(sandbox.path("stopped.citree/metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 24, "a line for every epoch of both models");
    assert!(!sandbox.path("stopped.citree/training").exists(), "checkpoints are gone when the model is there");
}

/// Stops a training at its first batch.
struct AtOnce;
impl Observer for AtOnce {
    fn step(&mut self, _report: &StepReport) -> Flow {
        Flow::Stop
    }
}

#[test]
fn a_run_stopped_in_its_first_epoch_resumes_to_the_result_of_an_undisturbed_one() {
    let sandbox = Sandbox::new();
    let config = Config::load(Preset::Small, &sandbox.path("tiny.toml")).unwrap();
    let (train_set, dev) = (starter::train()[..60].to_vec(), starter::dev()[..20].to_vec());
    let (whole, stopped) = (sandbox.path("whole.citree"), sandbox.path("stopped.citree"));
    let run = |bundle: &Path, start: Start<'_>, observer: &mut dyn Observer| {
        let (none, device) = (Pretrained::default(), citree::Device::CPU);
        let plan = Plan { config: &config, pretrained: &none, train: &train_set, dev: &dev, device: &device };
        train(&plan, bundle, start, observer).unwrap()
    };
    let trained = run(&whole, Start::Fresh, &mut ()).unwrap();
    assert!(run(&stopped, Start::Fresh, &mut AtOnce).is_none());
    assert!(run(&stopped, Start::Resume, &mut AtOnce).is_none());
    run(&stopped, Start::Resume, &mut ()).unwrap();
    assert!(model_files(&whole) == model_files(&stopped));

    // A run that starts from another model can be resumed too.
    let tuned = [sandbox.path("tuned.citree"), sandbox.path("tuned-stopped.citree")];
    run(&tuned[0], Start::From(&trained), &mut ()).unwrap();
    assert!(run(&tuned[1], Start::From(&trained), &mut AtOnce).is_none());
    run(&tuned[1], Start::Resume, &mut ()).unwrap();
    assert!(model_files(&tuned[0]) == model_files(&tuned[1]));
    assert!(model_files(&tuned[0]) != model_files(&whole));
}

#[test]
fn a_run_killed_while_it_writes_what_it_starts_from_cannot_be_resumed_from_random_parameters() {
    let sandbox = Sandbox::new();
    sandbox.trained("first.citree");
    let args = [&sandbox.training("tuned.citree")[..], &["--init", "first.citree"]].concat();
    let file = |name: &str| sandbox.path("tuned.citree/training").join(name);
    let mut child = sandbox.command(&args).stderr(Stdio::null()).spawn().unwrap();
    while !file("heads.checkpoint").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the training ended before its first checkpoint");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (marked, complete) = (file("config.toml").exists(), file("labels.checkpoint").exists());
    assert!(!marked || complete, "it can be resumed, and its labels start from random parameters");

    let again: &[&str] = if marked { &["--resume"] } else { &[] };
    let output = sandbox.citree(&[&args[..], again].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = sandbox.citree(&[&sandbox.training("whole.citree")[..], &["--init", "first.citree"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(model_files(&sandbox.path("tuned.citree")) == model_files(&sandbox.path("whole.citree")));
}

/// Ends a training, like a kill, after the model is written and before the index is.
struct WhileIndexing;
impl Observer for WhileIndexing {
    fn indexing(&self, step: Step) -> Flow {
        assert!(!matches!(step, Step::Indexing(_)), "on purpose");
        Flow::Continue
    }
}

#[test]
fn a_training_that_ends_while_it_builds_the_index_resumes_to_a_whole_bundle() {
    let sandbox = Sandbox::new();
    let config = Config::load(Preset::Small, &sandbox.path("tiny.toml")).unwrap();
    let (train_set, dev) = (starter::train()[..60].to_vec(), starter::dev()[..20].to_vec());
    let path = sandbox.path("run.citree");
    let (none, device) = (Pretrained::default(), citree::Device::CPU);
    let plan = Plan { config: &config, pretrained: &none, train: &train_set, dev: &dev, device: &device };
    let ended = || train(&plan, &path, Start::Fresh, &mut WhileIndexing);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(ended)).is_err(), "the index was built");
    assert!(path.join("training").exists(), "there is something to resume");
    let parsed = sandbox.citree(&["parse", "run.citree", "dev.conllu"]);
    assert_eq!(parsed.status.code(), Some(2), "an unfinished bundle answers");
    assert!(stderr(&parsed).contains("--resume"), "{}", stderr(&parsed));

    let again = sandbox.citree(&sandbox.training("run.citree"));
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--resume"), "{}", stderr(&again));
    let resumed = sandbox.citree(&[&sandbox.training("run.citree")[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(sandbox.citree(&["verify", "run.citree"]).status.code(), Some(0));
    assert!(!path.join("training").exists());
    sandbox.trained("whole.citree");
    assert!(model_files(&path) == model_files(&sandbox.path("whole.citree")));
}

/// Says stop when the index is built.
struct StopsAt(fn(Step) -> bool);
impl Observer for StopsAt {
    fn indexing(&self, step: Step) -> Flow {
        if (self.0)(step) { Flow::Stop } else { Flow::Continue }
    }
}

#[test]
fn a_training_stopped_while_it_encodes_indexes_or_measures_resumes_to_the_same_bundle() {
    let sandbox = Sandbox::new();
    sandbox.trained("whole.citree");
    let config = Config::load(Preset::Small, &sandbox.path("tiny.toml")).unwrap();
    let (train_set, dev) = (starter::train()[..60].to_vec(), starter::dev()[..20].to_vec());
    let (none, device) = (Pretrained::default(), citree::Device::CPU);
    let plan = Plan { config: &config, pretrained: &none, train: &train_set, dev: &dev, device: &device };
    let path = sandbox.path("run.citree");
    let stops: [fn(Step) -> bool; 3] = [
        |step| matches!(step, Step::Encoding { .. }),
        |step| matches!(step, Step::Indexing(progress) if progress.space == 1),
        |step| matches!(step, Step::Measuring { done: 1, .. }),
    ];
    for (number, stops) in stops.into_iter().enumerate() {
        let start = if number == 0 { Start::Fresh } else { Start::Resume };
        assert!(train(&plan, &path, start, &mut StopsAt(stops)).unwrap().is_none(), "{number}: it was not stopped");
    }
    assert!(train(&plan, &path, Start::Resume, &mut ()).unwrap().is_some());
    assert!(model_files(&path) == model_files(&sandbox.path("whole.citree")));
    assert_eq!(sandbox.citree(&["verify", "run.citree"]).status.code(), Some(0));
}

#[test]
fn a_bundle_knows_its_scores_on_the_dev_set() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let info = stdout(&sandbox.citree(&["info", "t.citree", "--format", "json"]));
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    for decode in ["greedy", "mst"] {
        let parsed = sandbox.citree(&["parse", "t.citree", "dev.conllu", "--decode", decode]);
        sandbox.write("parsed.conllu", &stdout(&parsed));
        let scores = stdout(&sandbox.citree(&["eval", "dev.conllu", "parsed.conllu", "--json"]));
        let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
        for (name, score) in [("UAS", "uas"), ("LAS", "las_subtypes")] {
            let wanted = scores["with_punctuation"][score]["f1"].as_f64().unwrap() * 100.0;
            let known = info["training"][format!("dev {decode}")][name].as_f64().unwrap();
            assert!((known - wanted).abs() < 0.01, "{decode} {name}: {known}, but {wanted} by `citree eval`");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_run_killed_while_it_writes_the_model_resumes_like_any_other() {
    let sandbox = Sandbox::new();
    sandbox.write("tiny.toml", &crate::sandbox::TINY.replace("epochs = 3", "epochs = 1000"));
    let args = [&sandbox.training("run.citree")[..], &["--epochs", "2"]].concat();
    let mut child = sandbox.command(&sandbox.training("run.citree")).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&sandbox.path("run.citree/training/heads.checkpoint"), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let path = sandbox.path("run.citree/training/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, config.replace("epochs = 1000", "epochs = 2")).unwrap();
    std::fs::create_dir(sandbox.path("run.citree/model")).unwrap();
    std::fs::write(sandbox.path("run.citree/model/heads.safetensors"), "half").unwrap();

    let output = sandbox.citree(&[&args[..], &["--resume"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(sandbox.citree(&["parse", "run.citree", "dev.conllu"]).status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_run_resumes_only_with_the_options_and_treebanks_it_began_with() {
    let sandbox = Sandbox::new();
    sandbox.write("tiny.toml", &crate::sandbox::TINY.replace("epochs = 3", "epochs = 1000"));
    let args = sandbox.training("run.citree");
    let mut child = sandbox.command(&args).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&sandbox.path("run.citree/training/heads.checkpoint"), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = |more: &[&str], expected: &str| {
        let output = sandbox.citree(&[&args[..], more].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    refused(&["--resume", "--seed", "5"], "configuration");
    let (train, dev) = (sandbox.path("train.conllu"), sandbox.path("dev.conllu"));
    std::fs::copy(dev, train).unwrap();
    refused(&["--resume"], "treebanks");
}

#[test]
fn all_six_systems_train_and_parse() {
    let sandbox = Sandbox::new();
    for system in ["WWd", "WWc", "WId", "WIc", "IId", "IIc"] {
        let bundle = format!("{system}.citree");
        sandbox.trained_with(&bundle, &["--system", system]);
        let parsed = sandbox.citree(&["parse", &bundle, "dev.conllu"]);
        assert_eq!(parsed.status.code(), Some(0), "{system}: {}", stderr(&parsed));
        sandbox.write("parsed.conllu", &stdout(&parsed));
        let checked = sandbox.citree(&["check", "parsed.conllu"]);
        assert_eq!(checked.status.code(), Some(0), "{system}: {}", stdout(&checked));
    }
}

#[test]
fn mistakes_on_the_command_line_are_errors_that_say_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.trained("done.citree");
    sandbox.write("bad.toml", "epoch = 3\n");
    sandbox.write("headless.conllu", "1\tHi\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
    sandbox.write("empty.conllu", "");
    let train = |train: &str, more: &[&str]| {
        sandbox.citree(&[&["train", "--train", train, "--dev", "dev.conllu", "new.citree"], more].concat())
    };
    for (output, expected) in [
        (sandbox.citree(&sandbox.training("done.citree")), "choose another name"),
        (train("train.conllu", &["--config", "bad.toml"]), "epoch"),
        (train("train.conllu", &["--system", "XYz"]), "WWd, WWc"),
        (train("train.conllu", &["--resume"]), "leave out --resume"),
        (train("nowhere.conllu", &[]), "nowhere.conllu"),
        (train("headless.conllu", &[]), "annotate the word"),
        (train("empty.conllu", &[]), "no words"),
        (train("train.conllu", &["--device", "cuda"]), "--features cuda"),
    ] {
        assert_eq!(output.status.code(), Some(2), "{expected}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{expected}: {}", stderr(&output));
    }
    assert!(!sandbox.path("new.citree").exists(), "a refused training leaves nothing behind");
}

#[test]
fn a_training_without_epochs_is_refused_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let output = sandbox.citree(&[&sandbox.training("t.citree")[..], &["--epochs", "0"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("epochs is 0, but must be at least 1"), "{}", stderr(&output));
    assert!(!sandbox.path("t.citree").exists());
}
