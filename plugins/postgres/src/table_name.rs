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
    fn a_name_is_quoted_in_statements() {
        assert_eq!(TableName::new("Sales", r#"x"; drop"#).sql(), r#""Sales"."x""; drop""#);
    }
}
