//! Names of tables.

use std::fmt;

use tarn_batch::split_table_name;
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

    /// Reads a name as settings write it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        split_table_name(text).map(|(schema, name)| Self { schema, name })
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
