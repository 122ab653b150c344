//! What `deny.toml` says of licences, banned crates and sources, checked for everything in `Cargo.lock`.
//!
//! `cargo deny check` reads the same file and does more (advisories, several versions of a crate). It takes minutes to
//! install, so a change is checked by this.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use serde_json::Value;

/// The one registry.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks all packages and lists what is not allowed. Fails if there is any.
pub fn run() -> anyhow::Result<ExitCode> {
    let folder = crate::repository()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut violations = BTreeSet::new();
    let mut packages = BTreeSet::new();
    let rules: toml::Table = std::fs::read_to_string(folder.join("deny.toml"))?.parse()?;
    // The fuzz targets are a workspace of their own.
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let output = Command::new(&cargo)
            .args(["metadata", "--format-version", "1", "--all-features", "--locked", "--manifest-path"])
            .arg(folder.join(manifest))
            .output()
            .context("cargo does not start")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        check(&rules, &serde_json::from_slice(&output.stdout)?, &mut packages, &mut violations)?;
    }
    let mut out = std::io::stdout().lock();
    for violation in &violations {
        writeln!(out, "{violation}")?;
    }
    let (packages, count) = (packages.len(), violations.len());
    writeln!(std::io::stderr(), "deny: {packages} packages, {count} violations; advisories are not checked")?;
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(
    rules: &toml::Table,
    metadata: &Value,
    packages: &mut BTreeSet<String>,
    violations: &mut BTreeSet<String>,
) -> anyhow::Result<()> {
    let licenses = rules["licenses"]["allow"].as_array().context("no list of licences in deny.toml")?;
    let licenses: Vec<&str> = licenses.iter().filter_map(toml::Value::as_str).collect();
    let banned = rules["bans"]["deny"].as_array().context("no list of banned crates in deny.toml")?;
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|package| (text(package, "id"), text(package, "name"))).collect();
    for package in list(&metadata["packages"]) {
        let name = format!("{} {}", text(&package, "name"), text(&package, "version"));
        packages.insert(name.clone());
        let own = package["source"].is_null();
        if !own && text(&package, "source") != REGISTRY {
            violations.insert(format!("{name} comes from {}", text(&package, "source")));
        }
        let license = text(&package, "license");
        let unlicensed_own = own && license.is_empty();
        if !(unlicensed_own || is_allowed(&license, &licenses)) {
            violations.insert(format!("{name} has the licence {license:?}"));
        }
        for dependency in list(&package["dependencies"]).iter().filter(|_| own) {
            if dependency["req"] == "*" && dependency["path"].is_null() {
                violations.insert(format!("{name} takes any version of {}", text(dependency, "name")));
            }
        }
    }
    for node in list(&metadata["resolve"]["nodes"]) {
        let owner = names.get(&text(&node, "id")).map_or("", String::as_str);
        for dependency in list(&node["dependencies"]).iter().filter_map(Value::as_str) {
            let name = names.get(dependency).map_or("", String::as_str);
            let ban = banned.iter().find(|ban| ban["crate"].as_str() == Some(name));
            let wrappers = ban.and_then(|ban| ban.get("wrappers")).and_then(toml::Value::as_array);
            let wrapped = wrappers.is_some_and(|all| all.iter().any(|wrapper| wrapper.as_str() == Some(owner)));
            if ban.is_some() && !wrapped {
                violations.insert(format!("{owner} depends on {name}, which is banned"));
            }
        }
    }
    Ok(())
}

/// Whether an SPDX expression can be fulfilled by allowed licences alone. A slash is the old form of OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens = spaced.split_whitespace().peekable();
    either(&mut tokens, allowed).unwrap_or(false) && tokens.next().is_none()
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(tokens: &mut Tokens<'_>, allowed: &[&str]) -> Option<bool> {
    let mut fits = both(tokens, allowed)?;
    while tokens.next_if_eq(&"OR").is_some() {
        fits |= both(tokens, allowed)?;
    }
    Some(fits)
}

fn both(tokens: &mut Tokens<'_>, allowed: &[&str]) -> Option<bool> {
    let mut fits = one(tokens, allowed)?;
    while tokens.next_if_eq(&"AND").is_some() {
        fits &= one(tokens, allowed)?;
    }
    Some(fits)
}

fn one(tokens: &mut Tokens<'_>, allowed: &[&str]) -> Option<bool> {
    if tokens.next_if_eq(&"(").is_some() {
        let fits = either(tokens, allowed)?;
        return tokens.next_if_eq(&")").map(|_| fits);
    }
    let license = tokens.next()?;
    Some(match tokens.next_if_eq(&"WITH") {
        Some(_) => allowed.contains(&format!("{license} WITH {}", tokens.next()?).as_str()),
        None => allowed.contains(&license),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_expression_is_allowed_if_allowed_licences_fulfil_it() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"];
        for expression in
            ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(MIT OR X) AND Zlib", "Apache-2.0 WITH LLVM-exception"]
        {
            assert!(is_allowed(expression, &allowed), "{expression}");
        }
        for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT Zlib", "MIT OR"] {
            assert!(!is_allowed(expression, &allowed), "{expression}");
        }
    }

    #[test]
    fn other_licences_sources_and_banned_crates_are_listed() -> anyhow::Result<()> {
        let rules =
            "[licenses]\nallow = [\"MIT\"]\n[bans]\ndeny = [{ crate = \"bad\", wrappers = [\"outer\"] }]".parse()?;
        let package = |name: &str, license: &str, source: Value| {
            json!({"id": name, "name": name, "version": "1.0.0", "license": license, "source": source, "dependencies": [
                {"name": "any", "req": "*", "path": null}]})
        };
        let metadata = json!({
            "packages": [package("ours", "MIT", Value::Null), package("outer", "GPL-3.0", json!(REGISTRY)),
                package("bad", "MIT", json!("git+https://elsewhere.example"))],
            "resolve": {"nodes": [{"id": "ours", "dependencies": ["bad", "outer"]}, {"id": "outer", "dependencies": ["bad"]}]},
        });
        let (mut packages, mut violations) = (BTreeSet::new(), BTreeSet::new());
        check(&rules, &metadata, &mut packages, &mut violations)?;
        let expected = [
            "bad 1.0.0 comes from git+https://elsewhere.example",
            "ours 1.0.0 takes any version of any",
            "ours depends on bad, which is banned",
            "outer 1.0.0 has the licence \"GPL-3.0\"",
        ];
        assert_eq!(violations.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(packages.len(), 3);
        Ok(())
    }
}
