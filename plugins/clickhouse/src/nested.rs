//! Names with a dot, which ClickHouse reads as those of parts: `a.x` and `a.y` are two of a Nested `a`.
//!
//! So it renames no column into one or out of it (error 36), wants arrays of one to have as many elements in each row
//! (190), has no array in one that has the name of a column (44), and adds no column that has the name of one that is
//! there (15). Tables that were made with `share_nested_offsets = 0`, which newer servers know, are free of all that.

use tarn_batch::Table;

use crate::design::{Design, DesignColumn};
use crate::target_type::TargetType;

/// What a column is called and whether it holds arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_array: bool,
}

impl<'a> Named<'a> {
    pub(crate) fn of(column: &'a DesignColumn) -> Self {
        Self { name: &column.name, is_array: matches!(column.data_type.value_type(), TargetType::Array(_)) }
    }

    /// Whether rows cannot go to both columns of one table.
    fn clashes_with(self, other: Self) -> bool {
        let holds = |part: Self, whole: Self| part.is_array && of(part.name) == Some(whole.name);
        let are_parts = self.is_array && other.is_array && of(self.name).is_some();
        are_parts && of(self.name) == of(other.name) || holds(self, other) || holds(other, self)
    }

    /// Whether it cannot be added where the other one is.
    pub(crate) fn is_kept_out_by(self, other: Self) -> bool {
        self.clashes_with(other) || of(other.name) == Some(self.name)
    }
}

/// The Nested that a name makes a column a part of.
fn of(name: &str) -> Option<&str> {
    let (nested, part) = name.split_once('.')?;
    (!nested.is_empty() && !part.is_empty()).then_some(nested)
}

/// Whether a column can be renamed in a table with these others.
pub(crate) fn can_be_renamed<'a>(
    from: &str,
    to: Named<'_>,
    mut others: impl Iterator<Item = Named<'a>>,
) -> bool {
    of(from) == of(to.name) && (of(from).is_some() || !others.any(|other| to.clashes_with(other)))
}

/// Why rows could not go to a table that is to be made, and what to do.
pub(crate) fn clash_of(design: &Design, table: &Table) -> Option<(String, String)> {
    let is_part = |column: &&DesignColumn| Named::of(column).is_array && of(&column.name).is_some();
    let (part, other) = design.columns.iter().filter(is_part).find_map(|part| {
        let mut others = design.columns.iter().filter(|other| other.name != part.name);
        Some((part, others.find(|other| Named::of(part).clashes_with(Named::of(other)))?))
    })?;
    let source = &table.columns[part.source].name;
    let hint = format!(
        "give one of them another destination_name, such as {} for {source} (`--column-name {}:{source}={}`), or the \
         destination_type String",
        plain(&part.name),
        table.qualified_name(),
        plain(&part.name),
    );
    Some((why(&part.name, &other.name), hint))
}

/// Why not both, of two columns.
pub(crate) fn why(one: &str, other: &str) -> String {
    let (part, nested) = match (of(one), of(other)) {
        (Some(nested), _) if nested == other => (one, nested),
        (_, Some(nested)) if nested == one => (other, nested),
        (nested, _) => {
            let nested = nested.unwrap_or_default();
            return format!(
                "ClickHouse takes the arrays {one} and {other} for parts of a Nested {nested}, and refuses rows in which one \
                 has more elements than the other"
            );
        }
    };
    format!("ClickHouse takes {part} for a part of a Nested {nested}, which is another column's name")
}

/// A name without a dot, for a remedy.
fn plain(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_parts_where_there_is_something_before_and_behind_its_first_dot() {
        for (name, nested) in [
            ("a.b", Some("a")),
            ("a.b.c", Some("a")),
            ("a..b", Some("a")),
            ("a.b.", Some("a")),
            ("a", None),
            (".a", None),
            ("a.", None),
            (".a.b", None),
            ("..", None),
        ] {
            assert_eq!(of(name), nested, "{name}");
        }
    }
}
