//! The keys of a `config.json`, each checked when it is read. Errors name the key.

use super::folder::{FOLDER, missing};
use crate::error::{Error, Result};
use crate::ops::activation::Activation;
use serde_json::Value;
use std::path::Path;

/// The largest size that a configuration can ask for.
const LARGEST: u64 = 1 << 24;

/// The content of a `config.json`. A key that is null counts as missing.
pub(super) struct Keys<'a> {
    path: &'a Path,
    values: serde_json::Map<String, Value>,
}

impl<'a> Keys<'a> {
    /// Reads the file.
    pub(super) fn read(path: &'a Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| missing(path, &e))?;
        let values = serde_json::from_str(&text)
            .map_err(|e| Error::unfit(path, "the configuration of a transformer", &e.to_string(), FOLDER))?;
        Ok(Self { path, values })
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    /// A size from 1 on, which must be there.
    pub(super) fn size(&self, key: &str) -> Result<usize> {
        let size = self.get(key).and_then(Value::as_u64).filter(|size| (1..=LARGEST).contains(size));
        size.map(|size| size as usize).ok_or_else(|| self.refusal(key, &format!("from 1 to {LARGEST}"), FOLDER))
    }

    /// A size from 1 on.
    pub(super) fn size_or(&self, key: &str, default: usize) -> Result<usize> {
        if self.get(key).is_some() { self.size(key) } else { Ok(default) }
    }

    /// An integer that can be 0 or negative.
    pub(super) fn integer_or(&self, key: &str, default: i64) -> Result<i64> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let integer = value.as_i64().filter(|integer| integer.unsigned_abs() <= LARGEST);
        integer.ok_or_else(|| self.refusal(key, "an integer", FOLDER))
    }

    /// A number.
    pub(super) fn number_or(&self, key: &str, default: f64) -> Result<f64> {
        let Some(value) = self.get(key) else { return Ok(default) };
        value.as_f64().ok_or_else(|| self.refusal(key, "a number", FOLDER))
    }

    /// A number above 0 and up to 1, which is added to variances.
    pub(super) fn epsilon_or(&self, key: &str, default: f64) -> Result<f64> {
        let epsilon = self.number_or(key, default)?;
        if epsilon > 0.0 && epsilon <= 1.0 {
            Ok(epsilon)
        } else {
            Err(self.refusal(key, "above 0 and up to 1", FOLDER))
        }
    }

    /// A rate of dropout.
    pub(super) fn dropout_or(&self, key: &str, default: f64) -> Result<f32> {
        let rate = self.number_or(key, default)? as f32;
        if (0.0..1.0).contains(&rate) { Ok(rate) } else { Err(self.refusal(key, "from 0 to below 1", FOLDER)) }
    }

    /// Whether something is so.
    pub(super) fn flag_or(&self, key: &str, default: bool) -> Result<bool> {
        let Some(value) = self.get(key) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.refusal(key, "true or false", FOLDER))
    }

    /// An activation function by its name.
    pub(super) fn activation_or(&self, key: &str, default: &str) -> Result<Activation> {
        let name = self.get(key).map_or(Some(default), Value::as_str);
        let known = Activation::NAMES.iter().find(|&&(known, _)| Some(known) == name);
        known.map(|&(_, activation)| activation).ok_or_else(|| {
            let names: Vec<&str> = Activation::NAMES.iter().map(|&(name, _)| name).collect();
            self.refusal(key, &format!("one of {}", names.join(", ")), ANOTHER)
        })
    }

    /// Refuses another value of a key than this one, which a missing key stands for too.
    pub(super) fn must_be(&self, key: &str, expected: &Value) -> Result<()> {
        match self.get(key) {
            Some(found) if found != expected => Err(self.refusal(key, &expected.to_string(), ANOTHER)),
            _ => Ok(()),
        }
    }

    /// The refusal of a key's value.
    pub(super) fn refusal(&self, key: &str, expected: &str, remedy: &str) -> Error {
        let found = self.get(key).map_or_else(|| "none".to_string(), |value| shortened(&value.to_string()));
        Error::unfit(self.path, &format!("{key} {expected}"), &format!("{key} {found}"), remedy)
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        self.path
    }
}

/// The remedy for a network that is not supported.
pub(super) const ANOTHER: &str = "this network is not supported; give another model";

/// The beginning of a value, for messages.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
