//! The frame of pages that need no other file and no network.

use super::escape;

/// What the pages of one kind have in common.
pub(crate) struct Frame {
    pub style: &'static str,
    pub script: &'static str,
    /// The SHA-256 of the script. The content security policy allows this script only, whatever text a treebank contains.
    pub script_hash: &'static str,
}

impl Frame {
    /// What comes after the main part of a page.
    pub(crate) const END: &str = "</main>\n</body>\n</html>\n";

    /// A page. `header` and `main` are markup, the title is text.
    pub(crate) fn page(&self, title: &str, header: &str, main: &str) -> String {
        format!("{}{main}{}", self.start(title, header), Self::END)
    }

    /// What comes before the main part of a page.
    pub(crate) fn start(&self, title: &str, header: &str) -> String {
        let (Self { style, script, script_hash }, title) = (self, escape(title));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'sha256-{script_hash}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"citree {}\">\n<title>{title}</title>\n\
             <style>\n{style}</style>\n<script>{script}</script>\n</head>\n<body>\n<header>\n<h1 dir=\"auto\">{title}</h1>\n\
             {header}</header>\n<main>\n",
            env!("CARGO_PKG_VERSION"),
        )
    }
}
