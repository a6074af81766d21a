//! Names of tables.

use std::fmt;

use tarn_sdk::sql::postgres::qualified;

/// A table's schema and name, as the server has them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TableName {
    pub(crate) schema: String,
    pub(crate) name: String,
}

impl TableName {
    pub(crate) fn new(schema: impl Into<String>, name: impl Into<String>) -> Self {
        Self { schema: schema.into(), name: name.into() }
    }

    /// Reads `schema.table`. Each part is taken as it is, or from between double quotes, where a double
    /// quote is written twice; a part with a point in it needs the quotes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (schema, rest) = part(text)?;
        let (name, rest) = match rest.strip_prefix('.')? {
            // Unquoted, the rest is the name, points and all: only the schema must be told from it.
            rest if !rest.starts_with('"') => (rest.to_owned(), ""),
            rest => part(rest)?,
        };
        (rest.is_empty() && !schema.is_empty() && !name.is_empty()).then_some(Self { schema, name })
    }

    /// The name as settings have it, so that [`Self::parse`] reads it back: in quotes where it would be
    /// read as another one without them.
    pub(crate) fn to_setting(&self) -> String {
        let plain = self.to_string();
        if Self::parse(&plain).as_ref() == Some(self) { plain } else { self.sql() }
    }

    /// The name in a statement.
    pub(crate) fn sql(&self) -> String {
        qualified(&self.schema, &self.name)
    }
}

fn part(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return text.find('.').map(|point| (text[..point].to_owned(), &text[point..]));
    };
    let mut part = String::new();
    let mut rest = quoted;
    loop {
        let quote = rest.find('"')?;
        part.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                part.push('"');
                rest = after;
            }
            None => return Some((part, rest)),
        }
    }
}

/// `schema.name`, as people and the host know the table.
impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_literally() {
        // B125, B176, B178, B181, B187.
        for (text, schema, name) in [
            ("public.users", "public", "users"),
            ("Sales.Q1", "Sales", "Q1"),
            (r#""Sales"."Q1""#, "Sales", "Q1"),
            (r#"public."my.table""#, "public", "my.table"),
            ("public.my-table.1", "public", "my-table.1"),
            (r"s1.back\slash", "s1", r"back\slash"),
            ("テスト.café", "テスト", "café"),
            (r#""a.b"."c""d""#, "a.b", r#"c"d"#),
            (r#"public.say"hi""#, "public", r#"say"hi""#),
        ] {
            assert_eq!(TableName::parse(text), Some(TableName::new(schema, name)), "{text}");
        }
        for text in ["", "users", ".", "public.", ".users", r#""public.users"#, r#""a"b.c"#, r#"a."b"c"#] {
            assert_eq!(TableName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_written_in_settings_as_it_is_read_there() {
        for (schema, name, text) in [
            ("public", "users", "public.users"),
            ("Sales", "my.table", "Sales.my.table"),
            ("a.b", "c", r#""a.b"."c""#),
            ("s", r#""q"#, r#""s"."""q""#),
        ] {
            let table = TableName::new(schema, name);
            assert_eq!(table.to_setting(), text);
            assert_eq!(TableName::parse(text), Some(table), "{text}");
        }
    }

    #[test]
    fn a_name_is_quoted_in_statements() {
        assert_eq!(TableName::new("Sales", r#"x"; drop"#).sql(), r#""Sales"."x""; drop""#);
    }
}
