//! Compiles `tools/faults.c` and runs programs under it.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};

use super::calls::Call;

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed before the call.
    Kill,
    /// The call fails with an I/O error.
    Eio,
    /// From this call on, the disk is full.
    Enospc,
    /// A write takes half of its bytes.
    Short,
}

impl Fault {
    pub const ALL: [Self; 4] = [Self::Kill, Self::Eio, Self::Enospc, Self::Short];

    /// Whether it can happen to a call.
    pub fn concerns(self, call: &Call) -> bool {
        match self {
            Self::Kill | Self::Eio => true,
            Self::Enospc => call.grows(),
            Self::Short => call.is_write(),
        }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Kill => "kill",
            Self::Eio => "eio",
            Self::Enospc => "enospc",
            Self::Short => "short",
        })
    }
}

/// The library that is loaded before all others.
pub struct Shim {
    library: PathBuf,
}

impl Shim {
    pub fn compile(folder: &Path) -> anyhow::Result<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults.c");
        let library = folder.join("faults.so");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        ensure!(cc.status().context("a C compiler, `cc`, is needed")?.success(), "faults.c does not compile");
        Ok(Self { library })
    }

    /// Runs a command with its calls below `root` recorded, and a fault at one of them, counted from 0.
    pub fn run(
        &self,
        mut command: Command,
        root: &Path,
        log: &Path,
        fault: Option<(Fault, usize)>,
    ) -> anyhow::Result<Output> {
        std::fs::remove_file(log).ok();
        command.env("LD_PRELOAD", &self.library).env("FAULT_ROOT", root).env("FAULT_LOG", log);
        if let Some((kind, at)) = fault {
            command.env("FAULT_KIND", kind.to_string()).env("FAULT_AT", (at + 1).to_string());
            // Only the calls without a fault are replayed.
            command.env_remove("FAULT_LOG");
        }
        command.output().context("the program does not start")
    }
}

/// Builds the program of this repository.
pub fn build_citree() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = crate::repository()?.join("Cargo.toml");
    let mut build = Command::new(cargo);
    build.args(["build", "--workspace", "--bin", "citree", "--manifest-path"]).arg(manifest);
    ensure!(build.status().context("cargo does not start")?.success(), "citree does not build");
    let own = std::env::current_exe().context("the place of this program")?;
    Ok(own.with_file_name("citree"))
}
