//! Downloads a file of which nothing is known before, and goes on where an interrupted download stopped. What checks it is in the file.

use super::blob::Part;
use super::download::{Client, Event, Fault, MOST_BYTES};
use crate::error::{Error, Result};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Downloads a file by its URL into a folder, under its own name, unless it is there, and returns its path. Reports progress to `observe`.
///
/// # Errors
/// The URL has no plain name at its end, or the file cannot be had.
pub fn fetch_file(url: &str, into: &Path, observe: &mut dyn FnMut(Event)) -> Result<PathBuf> {
    fetch_with(&Client::new(), url, into, observe)
}

pub(super) fn fetch_with(client: &Client, url: &str, into: &Path, observe: &mut dyn FnMut(Event)) -> Result<PathBuf> {
    let path = into.join(name_in(url).ok_or_else(|| Error::TreebankName {
        given: url.to_owned(),
        expected: "the URL of a file, such as https://example.org/en.citree.tar.zst",
    })?);
    if path.exists() {
        observe(Event::Present { path: &path });
        return Ok(path);
    }
    client.download_resumed(url, &path, observe)?;
    observe(Event::Written { path: &path });
    Ok(path)
}

/// The name at the end of a URL, if it is harmless in a path.
fn name_in(url: &str) -> Option<&str> {
    let path = url.split(['?', '#']).next()?.split_once("://")?.1;
    let (_, name) = path.rsplit_once('/')?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-+".contains(&b);
    (!name.is_empty() && name.len() < 200 && !name.starts_with('.') && name.bytes().all(plain)).then_some(name)
}

impl Client {
    fn download_resumed(&self, url: &str, path: &Path, observe: &mut dyn FnMut(Event)) -> Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let mut part = Part::open(path)?;
        self.retried(url, path, observe, &mut |observe| self.rest(url, &mut part, observe))?;
        part.publish(path)
    }

    fn rest(&self, url: &str, part: &mut Part, observe: &mut dyn FnMut(Event)) -> Result<(), Fault> {
        let mut have = part.length().map_err(Fault::Disk)?;
        let range = (have > 0).then(|| ("Range", format!("bytes={have}-")));
        let mut response = self.get(url, range.as_slice())?;
        let sent = response.headers().get("Content-Range").and_then(|value| value.to_str().ok()).and_then(range_of);
        let length = match (response.status().as_u16(), sent) {
            // A server that does not know ranges sends all of it again.
            (200, _) => {
                have = part.restart().map_err(Fault::Disk)?;
                response.body().content_length()
            }
            (206, Some((Some(start), total))) if start == have => Some(total),
            // Nothing is missing: only the rename was.
            (416, Some((None, total))) if total == have => return Ok(()),
            (206 | 416, _) => {
                part.restart().map_err(Fault::Disk)?;
                return Err(Fault::Passing("the server sent another part of the file".to_owned()));
            }
            _ => return Err(Fault::from_status(response.status())),
        };
        observe(Event::Started { path: part.target(), length });
        let mut body = response.body_mut().with_config().limit(MOST_BYTES).reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => return Err(Fault::from_network(error.into())),
            };
            part.write(&buffer[..count]).map_err(Fault::Disk)?;
            have += count as u64;
            observe(Event::Received { bytes: have });
        }
        match length.is_none_or(|length| length == have) {
            true => Ok(()),
            false => Err(Fault::Passing("the connection ended early".to_owned())),
        }
    }
}

/// `bytes 5-9/10` as 5 and 10; `bytes */10` as nothing and 10.
fn range_of(header: &str) -> Option<(Option<u64>, u64)> {
    let (range, total) = header.strip_prefix("bytes ")?.split_once('/')?;
    let start = match range {
        "*" => None,
        range => Some(range.split_once('-')?.0.parse().ok()?),
    };
    Some((start, total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_the_plain_end_of_its_url() {
        assert_eq!(name_in("https://example.org/a/en.citree.tar.zst?x=/y#z"), Some("en.citree.tar.zst"));
        for bad in [
            "https://example.org/",
            "https://example.org",
            "https://e.org/..",
            "https://e.org/a%2Fb",
            "x",
            "https://e.org/a\\b",
        ] {
            assert_eq!(name_in(bad), None, "{bad}");
        }
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(range_of("bytes 5-9/10"), Some((Some(5), 10)));
        assert_eq!(range_of("bytes */10"), Some((None, 10)));
        assert_eq!(range_of("bytes 5-9/*"), None);
    }
}
