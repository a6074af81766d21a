//! How values that JSON has no form of its own for are written.

/// What a script asks for; the defaults are what consumers of this family of servers read today.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns of the types json and jsonb.
    pub documents: Documents,
    /// Decimals.
    pub decimals: Decimals,
    /// Bytes.
    pub bytes: Bytes,
    /// NaN and the infinities.
    pub nonfinite: Nonfinite,
}

/// How columns of the types json and jsonb are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Documents {
    /// As a string that holds the document.
    #[default]
    Text,
    /// As a part of the whole.
    Nested,
}

/// How decimals are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decimals {
    /// As a string: most readers of JSON would round a number.
    #[default]
    Text,
    /// As a number with all its digits.
    Number,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bytes {
    /// Base64 with padding.
    #[default]
    Base64,
    /// `\x` and two digits a byte, as PostgreSQL does.
    Hex,
}

/// What becomes of NaN and the infinities, which JSON does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nonfinite {
    /// An error.
    #[default]
    Error,
    /// `null`.
    Null,
    /// `"NaN"`, `"Infinity"`, `"-Infinity"`.
    Text,
}

/// Takes a value as a setting.
type Set = fn(&mut Options, &[u8]) -> Option<()>;

/// The settings: names, values for people, and how to take one.
pub const SETTINGS: &[(&str, &str, Set)] = &[
    ("json", "\"text\" or \"nested\"", |options, value| {
        options.documents = match value {
            b"text" => Documents::Text,
            b"nested" => Documents::Nested,
            _ => return None,
        };
        Some(())
    }),
    ("numeric", "\"text\" or \"number\"", |options, value| {
        options.decimals = match value {
            b"text" => Decimals::Text,
            b"number" => Decimals::Number,
            _ => return None,
        };
        Some(())
    }),
    ("bytes", "\"base64\" or \"hex\"", |options, value| {
        options.bytes = match value {
            b"base64" => Bytes::Base64,
            b"hex" => Bytes::Hex,
            _ => return None,
        };
        Some(())
    }),
    ("nan", "\"error\", \"null\" or \"text\"", |options, value| {
        options.nonfinite = match value {
            b"error" => Nonfinite::Error,
            b"null" => Nonfinite::Null,
            b"text" => Nonfinite::Text,
            _ => return None,
        };
        Some(())
    }),
];

impl Options {
    /// Takes one setting; a value that is no text is none.
    ///
    /// # Errors
    /// What there is instead, for the script's author.
    pub fn set(&mut self, name: &[u8], value: Option<&[u8]>) -> Result<(), String> {
        let Some((name, values, set)) = SETTINGS.iter().find(|(known, ..)| known.as_bytes() == name) else {
            let name = String::from_utf8_lossy(name);
            return Err(format!(
                "there is no option \"{name}\" for JSON: there are json, numeric, bytes and nan"
            ));
        };
        value
            .and_then(|value| set(self, value))
            .ok_or_else(|| format!("the option {name} for JSON is {values}"))
    }
}
