//! Parses the options of a command: pairs of a name and a value.

use anyhow::{Context, bail, ensure};

/// An option with its value.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    pub name: &'a str,
    pub value: &'a str,
    usage: &'a str,
}

/// The options in `arguments`. Errors include `usage`.
pub fn given<'a>(arguments: &'a [&'a str], usage: &'a str) -> impl Iterator<Item = anyhow::Result<Given<'a>>> {
    arguments.chunks(2).map(move |pair| match *pair {
        [name, value] => Ok(Given { name, value, usage }),
        _ => bail!("{} needs a value\n\n{usage}", pair[0]),
    })
}

impl Given<'_> {
    /// The value as a positive number.
    pub fn number(&self) -> anyhow::Result<usize> {
        let Self { name, value, .. } = self;
        let number: u32 = value.parse().with_context(|| format!("{name} {value}: not a number"))?;
        ensure!(number > 0, "{name} must be 1 or more");
        Ok(number as usize)
    }

    /// The value as a comma-separated list of known names.
    pub fn parts<P: Copy>(&self, known: &[(&str, P)]) -> anyhow::Result<Vec<P>> {
        let part = |name: &str| {
            let known = known.iter().find(|(known, _)| *known == name);
            known
                .map(|(_, part)| *part)
                .with_context(|| format!("{} {name}: no such part\n\n{}", self.name, self.usage))
        };
        self.value.split(',').map(part).collect()
    }

    /// The error for an unknown option.
    pub fn unknown(&self) -> anyhow::Error {
        anyhow::anyhow!("no option {}\n\n{}", self.name, self.usage)
    }
}
