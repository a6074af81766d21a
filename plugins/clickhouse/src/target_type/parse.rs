//! Reading a type's text.

use super::TargetType;
use crate::config::TYPE_DEPTH_MAX;

/// Reads the whole text as one type.
pub(super) fn parse(text: &str) -> Option<TargetType> {
    let mut reader = Reader { rest: text.trim() };
    let parsed = reader.data_type(0)?;
    reader.rest.trim().is_empty().then_some(parsed)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn data_type(&mut self, depth: usize) -> Option<TargetType> {
        if depth > TYPE_DEPTH_MAX {
            return None;
        }
        let start = self.rest;
        let name = self.word();
        match name {
            "Nullable" | "LowCardinality" | "Array" => {
                self.symbol('(')?;
                let inner = self.data_type(depth + 1)?;
                self.symbol(')')?;
                wrapped(name, inner)
            }
            "JSON" => {
                if self.symbol('(').is_some() {
                    self.skip_arguments()?;
                }
                let length = start.len() - self.rest.len();
                Some(TargetType::Json(start[..length].to_owned()))
            }
            "Enum8" | "Enum16" => {
                let labels = self.labels()?;
                Some(TargetType::Enum { width: if name == "Enum8" { 1 } else { 2 }, labels })
            }
            _ => {
                let arguments = self.arguments()?;
                plain(name, &arguments)
            }
        }
    }

    /// Letters and digits.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn symbol(&mut self, symbol: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(symbol)?;
        Some(())
    }

    /// Numbers and quoted texts in brackets; nothing where there are no brackets.
    fn arguments(&mut self) -> Option<Vec<Argument>> {
        let mut arguments = Vec::new();
        if self.symbol('(').is_none() {
            return Some(arguments);
        }
        loop {
            self.rest = self.rest.trim_start();
            arguments.push(if self.rest.starts_with('\'') {
                Argument::Text(self.quoted()?)
            } else {
                Argument::Number(self.number()?)
            });
            if self.symbol(',').is_none() {
                self.symbol(')')?;
                return Some(arguments);
            }
        }
    }

    fn labels(&mut self) -> Option<Vec<(String, i16)>> {
        let mut labels = Vec::new();
        self.symbol('(')?;
        loop {
            let label = self.quoted()?;
            self.symbol('=')?;
            labels.push((label, i16::try_from(self.number()?).ok()?));
            if self.symbol(',').is_none() {
                self.symbol(')')?;
                return Some(labels);
            }
        }
    }

    fn number(&mut self) -> Option<i64> {
        self.rest = self.rest.trim_start();
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, rest) = self.rest.split_at(self.rest.len() - digits.len() + end);
        self.rest = rest;
        number.parse().ok()
    }

    fn quoted(&mut self) -> Option<String> {
        self.symbol('\'')?;
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\'' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '\\' => text.push(characters.next()?.1),
                other => text.push(other),
            }
        }
        None
    }

    /// Passes over what is inside brackets that have been opened.
    fn skip_arguments(&mut self) -> Option<()> {
        let mut depth = 1;
        while depth > 0 {
            self.rest = self.rest.trim_start();
            match self.rest.chars().next()? {
                '\'' => drop(self.quoted()?),
                // What a person wrote goes into a statement: nothing that could end one.
                ';' => return None,
                character => {
                    depth += i32::from(character == '(') - i32::from(character == ')');
                    self.rest = &self.rest[character.len_utf8()..];
                }
            }
        }
        Some(())
    }
}

enum Argument {
    Number(i64),
    Text(String),
}

fn wrapped(name: &str, inner: TargetType) -> Option<TargetType> {
    Some(match name {
        "Array" => TargetType::Array(Box::new(inner)),
        "LowCardinality" => TargetType::LowCardinality(Box::new(inner)),
        _ if !inner.can_be_nullable() || inner.is_nullable() => return None,
        _ => TargetType::Nullable(Box::new(inner)),
    })
}

fn plain(name: &str, arguments: &[Argument]) -> Option<TargetType> {
    use Argument::{Number, Text};
    Some(match (name, arguments) {
        ("Bool", []) => TargetType::Bool,
        ("Float32", []) => TargetType::Float32,
        ("Float64", []) => TargetType::Float64,
        ("String", []) => TargetType::String,
        ("Date", []) => TargetType::Date,
        ("Date32", []) => TargetType::Date32,
        ("UUID", []) => TargetType::Uuid,
        ("DateTime", []) => TargetType::DateTime { timezone: None },
        ("DateTime", [Text(zone)]) => TargetType::DateTime { timezone: Some(zone.clone()) },
        ("DateTime64", [Number(precision @ 0..=9)]) => {
            TargetType::DateTime64 { precision: u8::try_from(*precision).ok()?, timezone: None }
        }
        ("DateTime64", [Number(precision @ 0..=9), Text(zone)]) => {
            TargetType::DateTime64 { precision: u8::try_from(*precision).ok()?, timezone: Some(zone.clone()) }
        }
        ("Time64", [Number(precision @ 0..=9)]) => {
            TargetType::Time64 { precision: u8::try_from(*precision).ok()? }
        }
        ("FixedString", [Number(size @ 1..=65_535)]) => TargetType::FixedString(usize::try_from(*size).ok()?),
        ("Decimal", [Number(precision @ 1..=76), Number(scale)]) if (0..=*precision).contains(scale) => {
            TargetType::Decimal {
                precision: u8::try_from(*precision).ok()?,
                scale: u8::try_from(*scale).ok()?,
            }
        }
        (integer, []) => return integer_type(integer),
        _ => return None,
    })
}

fn integer_type(name: &str) -> Option<TargetType> {
    let width = |bits: &str| match bits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        "256" => Some(32),
        _ => None,
    };
    match name.strip_prefix("UInt") {
        Some(bits) => width(bits).map(TargetType::UInt),
        None => width(name.strip_prefix("Int")?).map(TargetType::Int),
    }
}
