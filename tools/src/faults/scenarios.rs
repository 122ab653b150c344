//! The verbs that change files, each with a state before and after, and how a user goes on after a fault.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail, ensure};

use super::Left;
use super::calls::{self, Call};
use super::hub;
use super::power::{Disk, Loss};
use super::shim::{Fault, Shim};

/// A model that is trained in a fraction of a second.
const TINY: &str = "rule = \"sum\"\nlstm_units = 8\nedge_dim = 8\nword_dim = 6\nchar_dim = 4\nchar_filters = 4\nepochs = 2\nmin_count = 1\n";

const TRAIN: &[&str] = &["train", "--train", "train.conllu", "--dev", "dev.conllu", "--config", "tiny.toml", BUNDLE];
const ADD: &[&str] = &["evidence", BUNDLE, "add", "more.conllu"];
/// The same as a second part of the treebank that is there, for `merge` to have two.
const ADD_PART: &[&str] = &["evidence", BUNDLE, "add", "more.conllu", "--name", "treebank"];
/// The folder that is watched, and the bundle in it.
const WATCHED: &str = "watched";
const BUNDLE: &str = "watched/b.citree";
/// Where fetched encoders are.
const CACHE: &str = "watched/cache";
const DECISIONS: &str = "watched/decided.jsonl";
const MENDED: &str = "watched/mended.conllu";

/// A temporary folder with treebanks.
pub struct Lab {
    binary: PathBuf,
    /// The address of the hub.
    hub: String,
    folder: PathBuf,
    _temporary: tempfile::TempDir,
}

/// A verb to test.
pub struct Scenario {
    pub name: &'static str,
    /// Commands that make the state before.
    before: &'static [&'static [&'static str]],
    command: &'static [&'static str],
    /// What is typed.
    input: &'static str,
}

/// A scenario with what its command does if nothing fails.
pub struct Prepared<'a> {
    scenario: &'a Scenario,
    pub calls: Vec<Call>,
    old: String,
    new: String,
}

const ALL: &[Scenario] = &[
    Scenario { name: "train", before: &[], command: TRAIN, input: "" },
    Scenario { name: "index", before: &[TRAIN], command: &["index", BUNDLE, "--treebank", "dev.conllu"], input: "" },
    Scenario { name: "add", before: &[TRAIN], command: ADD, input: "" },
    Scenario { name: "remove", before: &[TRAIN], command: &["evidence", BUNDLE, "remove", "@ids.txt"], input: "" },
    Scenario {
        name: "replace",
        before: &[TRAIN, ADD],
        command: &["evidence", BUNDLE, "replace", "mended.conllu"],
        input: "",
    },
    Scenario { name: "merge", before: &[TRAIN, ADD_PART], command: &["evidence", BUNDLE, "merge"], input: "" },
    Scenario { name: "undo", before: &[TRAIN, ADD], command: &["evidence", BUNDLE, "undo"], input: "" },
    Scenario {
        name: "review",
        before: &[TRAIN],
        command: &["audit", BUNDLE, "--treebank", "train.conllu", "--decisions", DECISIONS, "--review"],
        input: "a\nr\nq\n",
    },
    Scenario {
        name: "apply",
        before: &[TRAIN, &["audit", BUNDLE, "--treebank", "train.conllu", "--decisions", DECISIONS, "--review"]],
        command: &["audit", BUNDLE, "--apply", DECISIONS, "--treebank", "train.conllu", "--output", MENDED],
        input: "a\na\na\nq\n",
    },
    Scenario { name: "fetch", before: &[], command: &["fetch", "encoder", hub::MODEL], input: "" },
];

impl Lab {
    pub fn new(binary: PathBuf) -> anyhow::Result<Self> {
        let temporary = tempfile::tempdir()?;
        let folder = temporary.path().canonicalize()?;
        let starter = crate::repository()?.join("src/treebank/starter");
        let train = std::fs::read_to_string(starter.join("train.conllu"))?;
        let sentences: Vec<&str> = train.split_inclusive("\n\n").take(34).collect();
        let dev = std::fs::read_to_string(starter.join("dev.conllu"))?;
        let dev: String = dev.split_inclusive("\n\n").take(8).collect();
        let id = |sentence: &str| -> anyhow::Result<String> {
            let line = sentence.lines().find_map(|line| line.strip_prefix("# sent_id = "));
            Ok(line.context("a sentence without sent_id")?.to_owned())
        };
        // The same name with another tree.
        let mended = sentences[5]
            .replace(&format!("sent_id = {}", id(sentences[5])?), &format!("sent_id = {}", id(sentences[0])?));
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
        write("train.conllu", &sentences[..30].concat())?;
        write("more.conllu", &sentences[30..32].concat())?;
        write("mended.conllu", &mended)?;
        write("ids.txt", &format!("{}\n{}\n", id(sentences[1])?, id(sentences[2])?))?;
        write("dev.conllu", &dev)?;
        write("tiny.toml", TINY)?;
        Ok(Self { binary, hub: hub::start()?, folder, _temporary: temporary })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn typed(&self, arguments: &[&str], input: &str) -> anyhow::Result<Command> {
        std::fs::write(self.path("input"), input)?;
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.folder).args(arguments).env("CITREE_CACHE", self.path("cache"));
        command.env("HF_ENDPOINT", &self.hub).env("HF_HOME", self.path(CACHE)).env("NO_PROXY", "127.0.0.1");
        command.stdin(Stdio::from(std::fs::File::open(self.path("input"))?));
        Ok(command)
    }

    fn run(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        self.typed(arguments, input)?.output().context("the program does not start")
    }

    /// All that the watched folder answers. Numbers of generations are not part of it.
    fn answer(&self) -> anyhow::Result<String> {
        let mut all = String::new();
        let verified = self.run(&["verify", BUNDLE], "")?;
        let explained = self.run(&["explain", BUNDLE, "dev.conllu", "--flip"], "")?;
        if verified.status.success() != explained.status.success() {
            bail!("`verify` and `explain` disagree: {} {}", said(&verified), said(&explained));
        }
        if explained.status.success() {
            all += &String::from_utf8_lossy(&explained.stdout);
            all += &String::from_utf8_lossy(&self.run(&["evidence", BUNDLE, "list"], "")?.stdout);
        } else {
            ensure!(explained.status.code() == Some(2), "explain ends with {}: {}", explained.status, said(&explained));
        }
        for name in [DECISIONS, MENDED] {
            all += &std::fs::read_to_string(self.path(name)).unwrap_or_else(|_| format!("no {name}"));
        }
        Ok(all + &self.fetched())
    }

    /// The files of the encoder that was fetched, if `--encoder` finds it.
    fn fetched(&self) -> String {
        let model = self.path(CACHE).join(hub::FOLDER);
        let Ok(commit) = std::fs::read_to_string(model.join("refs/main")) else { return "no encoder".to_owned() };
        let snapshot = model.join("snapshots").join(commit.trim());
        let read = |name| std::fs::read_to_string(snapshot.join(name)).unwrap_or_else(|_| format!("no {name}"));
        hub::FILES.map(read).concat()
    }

    /// The files that a training leaves byte for byte.
    fn trained(&self) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        for name in ["config.toml", "tables.json", "heads.safetensors", "labels.safetensors"] {
            all.extend(std::fs::read(self.path(BUNDLE).join("model").join(name)).unwrap_or_default());
        }
        all.extend(std::fs::read(self.path(BUNDLE).join("rules.json")).unwrap_or_default());
        let index = self.path(BUNDLE).join("index");
        let current = std::fs::read_to_string(index.join("CURRENT")).unwrap_or_default();
        for name in ["edges", "heads", "labels", "rejected", "rejected-edges", "lookup", "manifest"] {
            all.extend(std::fs::read(index.join(current.trim()).join(name)).unwrap_or_default());
        }
        Ok(all)
    }
}

impl Scenario {
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ALL.iter()
    }

    /// Makes the state before, and runs the command undisturbed.
    pub fn prepare<'a>(&'a self, lab: &Lab, shim: &Shim) -> anyhow::Result<Prepared<'a>> {
        let (watched, base) = (lab.path(WATCHED), lab.path("base"));
        clear(&watched)?;
        clear(&base)?;
        std::fs::create_dir(&watched)?;
        for arguments in self.before {
            let output = lab.run(arguments, self.input)?;
            ensure!(output.status.success(), "{arguments:?}: {}", said(&output));
        }
        copy(&watched, &base)?;
        let old = lab.answer()?;
        let log = lab.path("log");
        let output = shim.run(self.typed(lab)?, &watched, &log, None)?;
        ensure!(output.status.success(), "{:?}: {}", self.command, said(&output));
        let new = lab.answer()?;
        ensure!(old != new, "{} changes nothing", self.name);
        clear(&lab.path("after"))?;
        copy(&watched, &lab.path("after"))?;
        Ok(Prepared { scenario: self, calls: calls::read(&log, &watched)?, old, new })
    }

    /// The command, with what is typed.
    fn typed(&self, lab: &Lab) -> anyhow::Result<Command> {
        lab.typed(self.command, self.input)
    }
}

impl Prepared<'_> {
    /// Runs the command with a fault, and checks what is left.
    pub fn fault(&self, lab: &Lab, shim: &Shim, fault: Fault, at: usize) -> anyhow::Result<Left> {
        let watched = lab.path(WATCHED);
        clear(&watched)?;
        copy(&lab.path("base"), &watched)?;
        let output = shim.run(self.scenario.typed(lab)?, &watched, &lab.path("log"), Some((fault, at)))?;
        ensure!(output.status.code() != Some(101), "a panic: {}", said(&output));
        let succeeded = output.status.success();
        if fault == Fault::Short {
            ensure!(succeeded, "a short write is no error: {}", said(&output));
        }
        let left = self.judge(lab)?;
        if let (Left::Old, true) = (&left, succeeded) {
            bail!("it says that all is well, and nothing changed");
        }
        Ok(left)
    }

    /// Checks what is left after a loss of power before a call.
    pub fn power_loss(&self, lab: &Lab, loss: Loss, at: usize) -> anyhow::Result<Left> {
        let mut disk = Disk::of(&lab.path("base"))?;
        self.calls[..at].iter().try_for_each(|call| disk.apply(call))?;
        let watched = lab.path(WATCHED);
        clear(&watched)?;
        disk.write(loss, at as u64, &watched)?;
        self.judge(lab)
    }

    /// Whether the old or the new state is there. From the old one, repeating the command must lead to the new one.
    fn judge(&self, lab: &Lab) -> anyhow::Result<Left> {
        let found = lab.answer()?;
        if found == self.new {
            return Ok(Left::New);
        }
        ensure!(found == self.old, "neither the old nor the new state:\n{}", difference(&self.old, &found));
        let resumed = [self.scenario.command, &["--resume"]].concat();
        let mut output = match self.scenario.name {
            "train" => lab.run(&resumed, "")?,
            _ => lab.run(self.scenario.command, self.scenario.input)?,
        };
        if self.scenario.name == "train" && !output.status.success() {
            ensure!(said(&output).contains("leave out --resume"), "--resume: {}", said(&output));
            output = lab.run(self.scenario.command, "")?;
        }
        ensure!(output.status.success(), "repeated: {}", said(&output));
        let again = lab.answer()?;
        ensure!(again == self.new, "repeating it leads elsewhere:\n{}", difference(&self.new, &again));
        if self.scenario.name == "train" {
            let found = lab.trained()?;
            clear(&lab.path(WATCHED))?;
            copy(&lab.path("after"), &lab.path(WATCHED))?;
            ensure!(found == lab.trained()?, "the files of the model or the index differ");
        }
        Ok(Left::Old)
    }
}

/// The first line that differs.
fn difference(expected: &str, found: &str) -> String {
    let pair = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    pair.map_or_else(|| "one is longer".to_owned(), |(a, b)| format!("    {a}\n    {b}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

fn clear(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
        } else if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
