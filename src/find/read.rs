//! Makes a pattern of its text.
//!
//! ```text
//! pattern { item; … } without { item; … } …
//! item: N [condition, …]  |  N -[label|…]-> M  |  N -[^label|…]-> M  |  N -> M  |  N < M  |  N << M
//!       N.attribute = M.attribute  |  N.attribute <> M.attribute
//! condition: attribute = value|…  |  attribute <> value|…  |  attribute  |  !attribute
//! ```

use super::scan::{Token, tokens, wrong};
use super::{Attribute, Block, End, Pattern, Rule, Test, Value, Values};
use crate::error::{Error, Result};
use regex::RegexBuilder;
use std::str::FromStr;

/// The most words of a pattern.
const MOST_WORDS: usize = 12;
/// The head of a sentence's root, in a pattern.
const ROOT: &str = "ROOT";
/// The memory that a regular expression may take.
const REGEX_BYTES: usize = 1 << 20;

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut reader = Reader { text, tokens: tokens(text)?, at: 0 };
        reader.keyword("pattern")?;
        let main = reader.block(Block::default())?;
        let mut without = Vec::new();
        while reader.peek() != &Token::End {
            reader.keyword("without")?;
            without.push(reader.block(Block { names: main.names.clone(), rules: Vec::new() })?);
        }
        if main.names.is_empty() {
            return Err(reader.wrong("the pattern has no word", "write one, such as `N []`"));
        }
        Ok(Self { main, without })
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(_, token)| token)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    /// An error at the token that comes next.
    fn wrong(&self, found: &str, expected: &str) -> Error {
        let at = self.tokens.get(self.at).map_or(self.text.len(), |(at, _)| *at);
        wrong(self.text, at, found, expected)
    }

    fn expected(&self, expected: &str) -> Error {
        let found = match self.peek() {
            Token::Name(text) => format!("found `{text}`"),
            Token::Text(_) | Token::Regex(_) => "found a value in quotation marks".to_string(),
            Token::Sign(sign) => format!("found `{sign}`"),
            Token::End => "the pattern ends".to_string(),
        };
        self.wrong(&found, &format!("expected {expected}"))
    }

    fn is_sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.at += usize::from(is);
        is
    }

    fn sign(&mut self, sign: &str) -> Result<()> {
        if self.is_sign(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    fn keyword(&mut self, keyword: &str) -> Result<()> {
        match self.peek() {
            Token::Name(name) if name == keyword => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.expected(&format!("`{keyword} {{`"))),
        }
    }

    fn block(&mut self, mut block: Block) -> Result<Block> {
        self.sign("{")?;
        while !self.is_sign("}") {
            self.item(&mut block)?;
            if !self.is_sign(";") {
                self.sign("}").map_err(|_| self.expected("`;` or `}`"))?;
                break;
            }
        }
        Ok(block)
    }

    fn item(&mut self, block: &mut Block) -> Result<()> {
        let start = self.at;
        let Token::Name(name) = self.next() else {
            self.at = start;
            return Err(self.expected("the name of a word"));
        };
        if self.is_sign("->") {
            return self.edge(block, &name, start, Vec::new(), true);
        }
        for (sign, negated) in [("-[", false), ("-[^", true)] {
            if self.is_sign(sign) {
                let labels = self.labels()?;
                self.sign("]->")?;
                return self.edge(block, &name, start, labels, negated);
            }
        }
        let word = self.word(block, &name, start)?;
        if self.is_sign("[") {
            return self.conditions(block, word);
        }
        if self.is_sign(".") {
            return self.same(block, word);
        }
        for (sign, directly) in [("<<", false), ("<", true)] {
            if self.is_sign(sign) {
                let second = self.named_word(block)?;
                block.rules.push(Rule::Order { first: word, second, directly });
                return Ok(());
            }
        }
        Err(self.expected("`[`, `-[`, `->`, `.`, `<` or `<<`"))
    }

    fn edge(&mut self, block: &mut Block, head: &str, place: usize, labels: Vec<String>, negated: bool) -> Result<()> {
        let head = match head {
            ROOT => End::Root,
            name => End::Word(self.word(block, name, place)?),
        };
        let dependent = self.named_word(block)?;
        block.rules.push(Rule::Edge { head, dependent, labels, negated });
        Ok(())
    }

    /// The place of a word among the names. A new name is added.
    fn word(&mut self, block: &mut Block, name: &str, place: usize) -> Result<usize> {
        let plain =
            name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
        if !plain || name == ROOT {
            self.at = place;
            let expected = match name == ROOT {
                true => "ROOT is the head of an edge only",
                false => "the name of a word has letters, digits and _",
            };
            return Err(self.wrong(&format!("found `{name}`"), expected));
        }
        if let Some(known) = block.names.iter().position(|known| known == name) {
            return Ok(known);
        }
        if block.names.len() == MOST_WORDS {
            self.at = place;
            return Err(
                self.wrong(&format!("`{name}` is one word more"), &format!("a pattern has at most {MOST_WORDS}"))
            );
        }
        block.names.push(name.to_string());
        Ok(block.names.len() - 1)
    }

    fn named_word(&mut self, block: &mut Block) -> Result<usize> {
        let place = self.at;
        match self.next() {
            Token::Name(name) => self.word(block, &name, place),
            _ => {
                self.at = place;
                Err(self.expected("the name of a word"))
            }
        }
    }

    fn labels(&mut self) -> Result<Vec<String>> {
        let mut labels = Vec::new();
        loop {
            match self.peek().clone() {
                Token::Name(label) | Token::Text(label) => labels.push(label),
                _ => return Err(self.expected("a label")),
            }
            self.at += 1;
            if !self.is_sign("|") {
                return Ok(labels);
            }
        }
    }

    /// Everything up to `]`.
    fn conditions(&mut self, block: &mut Block, word: usize) -> Result<()> {
        if self.is_sign("]") {
            return Ok(());
        }
        loop {
            let absent = self.is_sign("!");
            let attribute = self.attribute()?;
            let values = if absent {
                Values::None
            } else if self.is_sign("=") {
                Values::OneOf(self.values()?)
            } else if self.is_sign("<>") {
                Values::NoneOf(self.values()?)
            } else {
                Values::Any
            };
            block.rules.push(Rule::Word { word, test: Test { attribute, values } });
            if !self.is_sign(",") {
                return self.sign("]").map_err(|_| self.expected("`=`, `<>`, `,` or `]`"));
            }
        }
    }

    fn attribute(&mut self) -> Result<Attribute> {
        let place = self.at;
        let Token::Name(name) = self.next() else {
            self.at = place;
            return Err(self.expected("an attribute, such as form or Case"));
        };
        Ok(match name.as_str() {
            "form" => Attribute::Form,
            "lemma" => Attribute::Lemma,
            "upos" => Attribute::Upos,
            "xpos" => Attribute::Xpos,
            "deprel" => Attribute::Label,
            "misc" => {
                self.sign(".")?;
                match self.next() {
                    Token::Name(key) => Attribute::Misc(key),
                    _ => {
                        self.at -= 1;
                        return Err(self.expected("a key of MISC, such as misc.SpaceAfter"));
                    }
                }
            }
            feature if feature.starts_with(char::is_uppercase) => self.feature(name)?,
            _ => {
                self.at = place;
                let expected =
                    "there are form, lemma, upos, xpos, deprel, misc.Key, and features, which begin with a capital";
                return Err(self.wrong(&format!("found `{name}`"), expected));
            }
        })
    }

    /// A feature; one with a layer has it in brackets: `Number[psor]`.
    fn feature(&mut self, name: String) -> Result<Attribute> {
        if !self.is_sign("[") {
            return Ok(Attribute::Feature(name));
        }
        match self.next() {
            Token::Name(layer) => {
                self.sign("]")?;
                Ok(Attribute::Feature(format!("{name}[{layer}]")))
            }
            _ => {
                self.at -= 1;
                Err(self.expected("the layer of the feature, such as Number[psor]"))
            }
        }
    }

    fn values(&mut self) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        loop {
            values.push(match self.peek().clone() {
                Token::Name(text) | Token::Text(text) => Value::Text(text),
                Token::Regex(text) => {
                    let regex = RegexBuilder::new(&format!("^(?:{text})$")).size_limit(REGEX_BYTES).build();
                    Value::Regex(regex.map_err(|error| {
                        let error = error.to_string();
                        let last = error.lines().last().unwrap_or_default().to_string();
                        self.wrong("the regular expression cannot be used", &last)
                    })?)
                }
                _ => return Err(self.expected("a value")),
            });
            self.at += 1;
            if !self.is_sign("|") {
                return Ok(values);
            }
        }
    }

    /// The rest of `N.attribute = M.attribute`.
    fn same(&mut self, block: &mut Block, word: usize) -> Result<()> {
        let attribute = self.attribute()?;
        let negated = self.is_sign("<>");
        if !negated && !self.is_sign("=") {
            return Err(self.expected("`=` or `<>`"));
        }
        let other = self.named_word(block)?;
        self.sign(".")?;
        let second = self.attribute()?;
        block.rules.push(Rule::Same { words: [word, other], attributes: [attribute, second], negated });
        Ok(())
    }
}
