//! What is on a disk after a loss of power: a model of files and folders whose changes last once they are synced.
//!
//! A file's content lasts when the file is synced, and the names in a folder last when the folder is. Nothing else is
//! assumed, which is less than most file systems promise.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::calls::{Call, Kind};

/// What becomes of changes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All are lost.
    All,
    /// Names last and content does not, as where a file system writes names first.
    Content,
    /// Each lasts or is lost by chance.
    Some,
}

impl Loss {
    pub const ALL: [Self; 3] = [Self::All, Self::Content, Self::Some];
}

impl Display for Loss {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::All => "power",
            Self::Content => "power names",
            Self::Some => "power some",
        })
    }
}

/// A file or a folder by its number.
type Node = usize;

#[derive(Clone, Default)]
struct Inode {
    /// The names in a folder: as they are, and as they last. `None` for a file.
    names: Option<[BTreeMap<String, Node>; 2]>,
    content: [Vec<u8>; 2],
    /// The text of a symbolic link, which is stored with its name.
    link: Option<PathBuf>,
}

/// A disk with one folder, number 0.
pub struct Disk {
    inodes: Vec<Inode>,
}

impl Disk {
    /// A disk with what a folder holds, all of it synced.
    pub fn of(folder: &Path) -> anyhow::Result<Self> {
        let mut disk = Self { inodes: Vec::new() };
        disk.load(folder)?;
        Ok(disk)
    }

    fn load(&mut self, path: &Path) -> anyhow::Result<Node> {
        let node = self.inodes.len();
        self.inodes.push(Inode::default());
        if path.is_symlink() {
            self.inodes[node].link = Some(std::fs::read_link(path)?);
        } else if path.is_dir() {
            let mut names = BTreeMap::new();
            for entry in std::fs::read_dir(path)? {
                let entry = entry?;
                names.insert(entry.file_name().to_string_lossy().into_owned(), self.load(&entry.path())?);
            }
            self.inodes[node].names = Some([names.clone(), names]);
        } else {
            let content = std::fs::read(path)?;
            self.inodes[node].content = [content.clone(), content];
        }
        Ok(node)
    }

    /// Makes a change that is not synced, or syncs changes.
    pub fn apply(&mut self, call: &Call) -> anyhow::Result<()> {
        let missing = || format!("the record does not fit: {call}");
        match &call.kind {
            Kind::Create | Kind::Mkdir | Kind::Symlink(_) => {
                let node = self.inodes.len();
                let names = matches!(call.kind, Kind::Mkdir).then(Default::default);
                let link = if let Kind::Symlink(to) = &call.kind { Some(to.clone()) } else { None };
                self.inodes.push(Inode { names, link, ..Inode::default() });
                let (folder, name) = self.place(&call.path).with_context(missing)?;
                self.names(folder).insert(name, node);
            }
            Kind::Truncate(length) => {
                let node = self.find(&call.path).with_context(missing)?;
                self.inodes[node].content[0].resize(*length as usize, 0);
            }
            Kind::Write(offset, data) => {
                let node = self.find(&call.path).with_context(missing)?;
                let content = &mut self.inodes[node].content[0];
                let start = *offset as usize;
                content.resize(content.len().max(start + data.len()), 0);
                content[start..start + data.len()].copy_from_slice(data);
            }
            Kind::Sync => {
                let node = self.find(&call.path).with_context(missing)?;
                let inode = &mut self.inodes[node];
                inode.content[1] = inode.content[0].clone();
                inode.names.iter_mut().for_each(|names| names[1] = names[0].clone());
            }
            Kind::Rename(to) => {
                let (folder, name) = self.place(&call.path).with_context(missing)?;
                let node = self.names(folder).remove(&name).with_context(missing)?;
                let (folder, name) = self.place(to).with_context(missing)?;
                self.names(folder).insert(name, node);
            }
            Kind::Unlink => {
                let (folder, name) = self.place(&call.path).with_context(missing)?;
                self.names(folder).remove(&name);
            }
            Kind::Rmdir => {
                let node = self.find(&call.path).with_context(missing)?;
                let empty = self.inodes[node].names.as_ref().is_some_and(|names| names[0].is_empty());
                let (folder, name) = self.place(&call.path).with_context(missing)?;
                if empty {
                    self.names(folder).remove(&name);
                }
            }
        }
        Ok(())
    }

    /// Writes what is left after a loss into a folder that does not exist.
    pub fn write(&self, loss: Loss, seed: u64, folder: &Path) -> anyhow::Result<()> {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut lasts = |always: bool| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            match loss {
                Loss::All => false,
                Loss::Content => always,
                Loss::Some => random >> 63 == 1,
            }
        };
        let mut open = vec![(0, folder.to_path_buf())];
        while let Some((node, path)) = open.pop() {
            let inode = &self.inodes[node];
            match (&inode.names, &inode.link) {
                (_, Some(to)) => std::os::unix::fs::symlink(to, &path)?,
                (None, None) => std::fs::write(&path, &inode.content[usize::from(!lasts(false))])?,
                (Some([new, old]), None) => {
                    std::fs::create_dir(&path)?;
                    let names: std::collections::BTreeSet<&String> = new.keys().chain(old.keys()).collect();
                    for name in names {
                        let both = [new.get(name), old.get(name)];
                        let node = if both[0] == both[1] || !lasts(true) { both[1] } else { both[0] };
                        open.extend(node.map(|node| (*node, path.join(name))));
                    }
                }
            }
        }
        Ok(())
    }

    fn names(&mut self, folder: Node) -> &mut BTreeMap<String, Node> {
        &mut self.inodes[folder].names.get_or_insert_with(Default::default)[0]
    }

    fn find(&self, path: &Path) -> Option<Node> {
        path.iter().try_fold(0, |folder, name| {
            self.inodes[folder].names.as_ref()?[0].get(&name.to_string_lossy().into_owned()).copied()
        })
    }

    /// The folder of a path, and its name there.
    fn place(&self, path: &Path) -> Option<(Node, String)> {
        let folder: PathBuf = path.parent()?.to_path_buf();
        Some((self.find(&folder)?, path.file_name()?.to_string_lossy().into_owned()))
    }
}
