//! The calls that `tools/faults.c` records.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// A call that changes files.
#[derive(Clone, Debug)]
pub struct Call {
    pub kind: Kind,
    pub path: PathBuf,
}

/// What it does.
#[derive(Clone, Debug)]
pub enum Kind {
    Create,
    Truncate(u64),
    Write(u64, Vec<u8>),
    Sync,
    Rename(PathBuf),
    /// A link with this text.
    Symlink(PathBuf),
    Unlink,
    Mkdir,
    Rmdir,
}

impl Call {
    pub fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Write(..))
    }

    /// Whether it needs room on the disk.
    pub fn grows(&self) -> bool {
        !matches!(self.kind, Kind::Sync | Kind::Unlink | Kind::Rmdir)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match &self.kind {
            Kind::Create => write!(f, "create {path}"),
            Kind::Truncate(length) => write!(f, "truncate {path} to {length}"),
            Kind::Write(offset, data) => write!(f, "write {} bytes at {offset} of {path}", data.len()),
            Kind::Sync => write!(f, "sync {path}"),
            Kind::Rename(to) => write!(f, "rename {path} to {}", to.display()),
            Kind::Symlink(to) => write!(f, "link {path} to {}", to.display()),
            Kind::Unlink => write!(f, "unlink {path}"),
            Kind::Mkdir => write!(f, "mkdir {path}"),
            Kind::Rmdir => write!(f, "rmdir {path}"),
        }
    }
}

/// Reads the calls, with paths relative to the folder that was watched.
pub fn read(log: &Path, root: &Path) -> anyhow::Result<Vec<Call>> {
    let bytes = std::fs::read(log).context("nothing was recorded: the program changed no file")?;
    let mut rest = &bytes[..];
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let [kind] = take::<1>(&mut rest)?;
        let mut length = || anyhow::Ok(u32::from_le_bytes(take(&mut rest)?) as usize);
        let lengths = [length()?, length()?, length()?];
        let place = u64::from_le_bytes(take(&mut rest)?);
        let [path, second, data] = lengths.map(|length| {
            let (own, others) = rest.split_at(length.min(rest.len()));
            rest = others;
            own.to_vec()
        });
        let inside = |path: Vec<u8>| {
            let path = PathBuf::from(String::from_utf8(path)?);
            Ok(path.strip_prefix(root).map(Path::to_path_buf).unwrap_or(path)) as anyhow::Result<PathBuf>
        };
        let kind = match kind {
            b'c' => Kind::Create,
            b't' => Kind::Truncate(place),
            b'w' => Kind::Write(place, data),
            b's' => Kind::Sync,
            b'r' => Kind::Rename(inside(second)?),
            b'l' => Kind::Symlink(PathBuf::from(String::from_utf8(second)?)),
            b'u' => Kind::Unlink,
            b'm' => Kind::Mkdir,
            b'd' => Kind::Rmdir,
            other => bail!("a record of kind {other}"),
        };
        calls.push(Call { kind, path: inside(path)? });
    }
    Ok(calls)
}

fn take<const N: usize>(rest: &mut &[u8]) -> anyhow::Result<[u8; N]> {
    let (own, others) = rest.split_first_chunk::<N>().context("the record of calls is cut")?;
    *rest = others;
    Ok(*own)
}
