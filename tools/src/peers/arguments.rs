//! Options of a verb on the command line: pairs of a name and a value.

use anyhow::{Context, bail, ensure};

/// An option that was given.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    pub name: &'a str,
    pub value: &'a str,
    usage: &'a str,
}

/// The options in `arguments`; `usage` is shown with what is wrong about them.
pub fn given<'a>(arguments: &'a [&'a str], usage: &'a str) -> impl Iterator<Item = anyhow::Result<Given<'a>>> {
    arguments.chunks(2).map(move |pair| match *pair {
        [name, value] => Ok(Given { name, value, usage }),
        _ => bail!("{} needs a value\n\n{usage}", pair[0]),
    })
}

impl Given<'_> {
    /// The value as a number, 1 or more.
    pub fn number(&self) -> anyhow::Result<usize> {
        let Self { name, value, .. } = self;
        let number: u32 = value.parse().with_context(|| format!("{name} {value}: not a number"))?;
        ensure!(number > 0, "{name} must be 1 or more");
        Ok(number as usize)
    }

    /// The value as a list of names, each of which stands for one of some parts.
    pub fn parts<P: Copy>(&self, known: &[(&str, P)]) -> anyhow::Result<Vec<P>> {
        let part = |name: &str| {
            let known = known.iter().find(|(known, _)| *known == name);
            known
                .map(|(_, part)| *part)
                .with_context(|| format!("{} {name}: no such part\n\n{}", self.name, self.usage))
        };
        self.value.split(',').map(part).collect()
    }

    /// For a name that is none.
    pub fn unknown(&self) -> anyhow::Error {
        anyhow::anyhow!("no option {}\n\n{}", self.name, self.usage)
    }
}
