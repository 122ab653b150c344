//! Downloads the files of a transformer from a model hub into the cache folder that other tools share.

use super::blob::{Expected, Hash};
use super::download::{Client, Event, Fault};
use crate::error::{Error, Result};
use crate::files::write_atomically;
use crate::hub::{HubModel, is_plain, user_cache};
use citree_index::container::{create_folder, sync_folder};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The base URL of the Hugging Face hub.
pub const HUB: &str = "https://huggingface.co";

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const WEIGHTS: &str = "model.safetensors";
const WEIGHTS_LIST: &str = "model.safetensors.index.json";
const PICKLED: &str = "pytorch_model.bin";
/// A description of a model is far shorter.
const LONGEST_DESCRIPTION: u64 = 32 << 20;
const OTHER: &str = "choose a model with config.json, tokenizer.json (or vocab.txt) and model.safetensors (or \
    pytorch_model.bin)";
const ELSEWHERE: &str = "check the connection and try again, or copy the model's folder from another machine and give it by \
    `citree train --encoder DIR`";

/// What a hub says about a model.
#[derive(Deserialize)]
struct Description {
    /// The commit.
    sha: String,
    #[serde(rename = "siblings")]
    files: Vec<Listed>,
}

/// A file of a model.
#[derive(Clone, Deserialize)]
struct Listed {
    #[serde(rename = "rfilename")]
    name: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    git: Option<String>,
    lfs: Option<Large>,
}

/// What is said about a large file.
#[derive(Clone, Deserialize)]
struct Large {
    sha256: String,
    size: u64,
}

/// Downloads the files of an encoder that are not there yet, and returns their folder. `name` is ORG/NAME; `revision` a
/// branch, a tag or a commit, the branch `main` if there is none. `base` is normally [`HUB`]. Reports progress to `observe`.
///
/// The files go into the cache folder that `huggingface_hub` and others use, so none is downloaded twice. Each is compared
/// with the hash that the hub announces. A download that was interrupted goes on where it stopped. Models that need a
/// login take a token from the variable `HF_TOKEN`.
///
/// # Errors
/// The hub cannot be reached, has no such model, or the model lacks a file that an encoder needs.
pub fn fetch_encoder(
    name: &str,
    revision: Option<&str>,
    base: &str,
    observe: &mut dyn FnMut(Event),
) -> Result<PathBuf> {
    let model = HubModel::new(name, revision)?;
    let cache = user_cache().ok_or_else(|| Error::HubModel {
        model: name.to_owned(),
        reason: "there is no home folder to keep it in".to_owned(),
        remedy: "set HF_HOME to a folder",
    })?;
    let token = std::env::var("HF_TOKEN").ok().filter(|token| !token.trim().is_empty());
    fetch_into(&Client::new(), &model, base, &cache, token.as_deref(), observe)
}

/// Downloads a model into a cache folder.
pub(super) fn fetch_into(
    client: &Client,
    model: &HubModel,
    base: &str,
    cache: &Path,
    token: Option<&str>,
    observe: &mut dyn FnMut(Event),
) -> Result<PathBuf> {
    let base = base.trim_end_matches('/');
    let headers: Vec<(&str, String)> =
        token.iter().map(|token| ("Authorization", format!("Bearer {}", token.trim()))).collect();
    let description = describe(client, model, base, &headers, observe)?;
    let refuse = |reason: String| Error::HubModel { model: model.name().to_owned(), reason, remedy: OTHER };
    if !is_plain(&description.sha) {
        return Err(refuse("the hub names no commit".to_owned()));
    }
    let snapshot = model.snapshot(cache, &description.sha);
    for file in wanted(&description.files).map_err(refuse)? {
        let path = snapshot.join(&file.name);
        let expected = file.expected().ok_or_else(|| refuse(format!("the hub gives no hash of {}", file.name)))?;
        if path.is_file() {
            observe(Event::Present { path: &path });
            continue;
        }
        let blob = model.folder(cache).join("blobs").join(expected.hash.digits());
        if !blob.is_file() {
            let url = format!("{base}/{}/resolve/{}/{}", model.name(), description.sha, file.name);
            client.download_blob(&url, &blob, &expected, &headers, observe)?;
        }
        create_folder(&snapshot)?;
        name_blob(&blob, &path)?;
        observe(Event::Written { path: &path });
    }
    // The model counts as fetched once its branch is named, so its files last before that.
    sync_folder(&snapshot)?;
    let reference = model.reference(cache);
    create_folder(reference.parent().unwrap_or(cache))?;
    if model.revision() != description.sha {
        write_atomically(&reference, description.sha.as_bytes())?;
    }
    Ok(snapshot)
}

/// Asks the hub which files the model has.
fn describe(
    client: &Client,
    model: &HubModel,
    base: &str,
    headers: &[(&str, String)],
    observe: &mut dyn FnMut(Event),
) -> Result<Description> {
    let url = format!("{base}/api/models/{}/revision/{}?blobs=true", model.name(), model.revision());
    let ask = &mut |_: &mut dyn FnMut(Event)| {
        let mut response = client.get(&url, headers)?;
        match response.status().as_u16() {
            200 => {}
            401 | 403 | 404 => return Ok(None),
            _ => return Err(Fault::from_status(response.status())),
        }
        let body = response.body_mut().with_config().limit(LONGEST_DESCRIPTION).read_to_vec();
        body.map(Some).map_err(Fault::from_network)
    };
    let refuse = |reason: String, remedy| Error::HubModel { model: model.name().to_owned(), reason, remedy };
    let body = client.retried(&url, Path::new(""), observe, ask).map_err(|error| match error {
        Error::Download { reason, .. } => refuse(format!("{base} does not answer: {reason}"), ELSEWHERE),
        other => other,
    })?;
    let body = body.ok_or_else(|| {
        let reason =
            format!("the hub has no such model at revision {}, or does not give it to everybody", model.revision());
        refuse(reason, "check the name; for a model that needs a login, set HF_TOKEN")
    })?;
    serde_json::from_slice(&body)
        .map_err(|e| refuse(format!("the hub's answer is not understood ({e})"), "check the address of the hub"))
}

/// The files that an encoder is read from.
fn wanted(files: &[Listed]) -> std::result::Result<Vec<&Listed>, String> {
    let find = |name: &str| files.iter().find(|file| file.name == name);
    let need = |name: &str| find(name).ok_or_else(|| format!("it has no {name}"));
    let mut wanted = vec![need(CONFIG)?];
    match (find(TOKENIZER), find("vocab.txt")) {
        (Some(tokenizer), _) => wanted.push(tokenizer),
        (None, Some(vocabulary)) => {
            wanted.extend([Some(vocabulary), find("tokenizer_config.json")].into_iter().flatten())
        }
        (None, None) => return Err(format!("it has neither {TOKENIZER} nor vocab.txt")),
    }
    match (find(WEIGHTS), find(WEIGHTS_LIST), find(PICKLED)) {
        (Some(weights), ..) => wanted.push(weights),
        (None, Some(list), _) => {
            let shard = |file: &&Listed| file.name.starts_with("model-") && file.name.ends_with(".safetensors");
            wanted.push(list);
            wanted.extend(files.iter().filter(shard));
        }
        (None, None, Some(pickled)) => wanted.push(pickled),
        (None, None, None) => return Err(format!("it has neither {WEIGHTS} nor {PICKLED}")),
    }
    match wanted.iter().find(|file| !is_plain(&file.name)) {
        Some(file) => Err(format!("it has a file with an odd name, {:?}", file.name)),
        None => Ok(wanted),
    }
}

impl Listed {
    fn expected(&self) -> Option<Expected> {
        let expected = match &self.lfs {
            Some(large) => Expected { length: large.size, hash: Hash::Sha256(large.sha256.clone()) },
            None => Expected { length: self.size?, hash: Hash::Git(self.git.clone()?) },
        };
        Some(expected).filter(|expected| expected.hash.is_possible())
    }
}

/// Gives a blob its name in the snapshot: a link as others make it, or a copy where there are no links.
fn name_blob(blob: &Path, path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        let target = Path::new("../../blobs").join(blob.file_name().unwrap_or_default());
        match std::os::unix::fs::symlink(target, path) {
            // Another process was faster, or a link of an earlier download leads to a blob that was removed and is back.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_file() => Ok(()),
            made => made.map_err(Error::io(path)),
        }
    }
    #[cfg(not(unix))]
    std::fs::copy(blob, path).map(drop).map_err(Error::io(path))
}
