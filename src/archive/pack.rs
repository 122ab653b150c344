//! Makes an archive of a bundle. The same bundle under the same name gives the same bytes.

use super::frames::Compressed;
use super::manifest::{FILE, FORMAT, File, Manifest, Origin, refused};
use super::{Checked, ENDING, Hashed};
use crate::bundle::Bundle;
use crate::encoder::pretrained::Contents;
use crate::error::{Error, Result};
use crate::files::write_output;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// An archive that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// The files of the bundle in it.
    pub files: usize,
}

/// Packs a bundle. It is verified first. What `origin` does not say is taken from the archive that the bundle was unpacked from;
/// there must be a licence and a treebank. `progress` gets the bytes done, and all.
pub fn pack(bundle: &Path, archive: &Path, origin: &Origin, progress: &mut dyn FnMut(u64, u64)) -> Result<Packed> {
    if !archive.to_string_lossy().ends_with(ENDING) {
        return Err(refused(archive, format!("the name of a packed bundle ends in {ENDING}")));
    }
    let opened = Bundle::open(bundle)?;
    let contents = Contents::read(&opened.layout().pretrained())?;
    if let Some(folder) = contents.bert.and_then(|transformer| transformer.folder) {
        let reason = format!(
            "it needs the encoder in {}, which it does not contain; train it without --encoder-by-reference",
            folder.display()
        );
        return Err(refused(bundle, reason));
    }
    if opened.has_index() {
        // While it is open, no generation of it is removed.
        opened.verify()??;
    }
    let folder = bundle.canonicalize().map_err(Error::io(bundle))?;
    let manifest = manifest(&opened, &folder, origin)?;
    manifest.check().map_err(|reason| refused(bundle, reason))?;
    let mut packed = None;
    write_output(archive, |out| {
        let mut out = Hashed::new(out);
        let files = write(&mut out, &folder, &manifest, progress)?;
        packed = Some(Packed { sha256: out.digits(), bytes: out.bytes, files });
        Ok(())
    })?;
    packed.ok_or(Error::Stopped)
}

fn manifest(opened: &Bundle, folder: &Path, origin: &Origin) -> Result<Manifest> {
    let earlier = match std::fs::read_to_string(folder.join(FILE)) {
        Ok(text) => Manifest::parse(&text, &folder.join(FILE))?.origin,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Origin::default(),
        Err(error) => return Err(Error::io(&folder.join(FILE))(error)),
    };
    let origin = Origin {
        treebank: origin.treebank.clone().or(earlier.treebank),
        release: origin.release.clone().or(earlier.release),
        license: origin.license.clone().or(earlier.license),
    };
    for (value, what, option) in
        [(&origin.license, "licence", "--license"), (&origin.treebank, "treebank", "--treebank")]
    {
        if value.is_none() {
            return Err(refused(
                folder,
                format!("those who get the bundle need to know its {what}; say it with {option}"),
            ));
        }
    }
    let mut files = Vec::new();
    list(folder, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let info = opened.info()?;
    Ok(Manifest {
        format: FORMAT,
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        citree: env!("CARGO_PKG_VERSION").to_string(),
        origin,
        fingerprint: opened.fingerprint()?,
        training: info.training,
        rules: info.rules,
        files,
    })
}

/// The files of a folder and those below it, with their hashes.
fn list(folder: &Path, below: &str, files: &mut Vec<File>) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    for entry in entries {
        let entry = entry.map_err(Error::io(folder))?;
        let (name, place) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let path = format!("{below}{name}");
        if is_of_this_machine(&path) {
            continue;
        }
        let kind = entry.file_type().map_err(Error::io(&place))?;
        if kind.is_dir() {
            list(&place, &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let mut hasher = blake3::Hasher::new();
            let mut file = std::fs::File::open(&place).map_err(Error::io(&place))?;
            let bytes = io::copy(&mut file, &mut hasher).map_err(Error::io(&place))?;
            files.push(File { path, bytes, blake3: hasher.finalize().to_hex().to_string() });
        } else {
            return Err(refused(&place, "it is neither a file nor a folder; a bundle to share has only these"));
        }
    }
    Ok(())
}

/// Whether a file is for the work on this machine: locks, what is not finished, and the list of an earlier archive.
fn is_of_this_machine(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path == FILE || path == "training" || name == "LOCK" || name.ends_with(".lock") || name.ends_with(".new")
}

fn write(out: &mut dyn Write, folder: &Path, manifest: &Manifest, progress: &mut dyn FnMut(u64, u64)) -> Result<usize> {
    let unwritten = |error| Error::io(Path::new("the archive"))(error);
    let mut tar = Builder::new(Compressed::new(out));
    let failed = |error: serde_json::Error| Error::Json { what: "the list of files", message: error.to_string() };
    let text = serde_json::to_string_pretty(manifest).map_err(failed)? + "\n";
    add(&mut tar, &manifest.entry(FILE), text.len() as u64, text.as_bytes()).map_err(unwritten)?;
    let (mut done, total) = (0, manifest.total());
    for file in &manifest.files {
        let place: PathBuf = folder.join(&file.path);
        let changed = || refused(&place, "it changed while it was packed; try again when nobody changes the bundle");
        let source = std::fs::File::open(&place).map_err(Error::io(&place))?;
        let mut source = Checked::new(source.take(file.bytes));
        add(&mut tar, &manifest.entry(&file.path), file.bytes, &mut source).map_err(unwritten)?;
        if !source.is(file) {
            return Err(changed());
        }
        done += file.bytes;
        progress(done, total);
    }
    tar.into_inner().and_then(Compressed::finish).map_err(unwritten)?;
    Ok(manifest.files.len())
}

/// Adds a file that belongs to nobody and is of no time.
fn add(tar: &mut Builder<impl Write>, path: &str, bytes: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_path(path)?;
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    tar.append(&header, content)
}
