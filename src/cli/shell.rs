//! The command line that is run, quoted for a shell.

use std::ffi::OsString;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Notes the arguments that were given. In a program of another language they are not those of the process.
pub(super) fn given(arguments: impl IntoIterator<Item = OsString>) -> &'static [OsString] {
    ARGUMENTS.get_or_init(|| arguments.into_iter().collect())
}

fn words() -> impl Iterator<Item = String> {
    given([]).iter().map(|word| word.to_string_lossy().into_owned())
}

/// The command line, ending in the word `more` if one is given.
pub(super) fn command_line(more: Option<&str>) -> String {
    // Uses the name of the program, because its path differs between machines.
    let name = std::iter::once("citree".to_string());
    let words = name.chain(words().skip(1));
    let words = words.filter(|word| Some(word.as_str()) != more).chain(more.map(String::from));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// The program as it was called: its path if it was called by one, otherwise its name.
pub(super) fn program() -> String {
    words().next().filter(|word| word.contains('/')).map_or_else(|| "citree".to_string(), quoted)
}

/// Quotes a word for a shell if necessary.
pub(super) fn quoted(word: String) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+%@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(quoted("--seeds=1,2".to_string()), "--seeds=1,2");
        assert_eq!(quoted("my bank.conllu".to_string()), "'my bank.conllu'");
        assert_eq!(quoted("it's".to_string()), "'it'\\''s'");
        assert_eq!(quoted(String::new()), "''");
    }
}
