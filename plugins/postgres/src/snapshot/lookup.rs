//! Reading rows by key at a held point.

use tarn_sdk::Failure;
use tarn_sdk::sql::postgres::{ident, literal, qualified};

use super::reader::copy_of;
use crate::catalog::Kind;
use crate::config::LOOKUP_KEYS_MAX;
use crate::mapped::Mapped;

/// A mapped table that rows can be read from.
#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) mapped: Mapped,
    /// The condition that a publication puts on its rows.
    pub(crate) row_filter: Option<String>,
    pub(crate) kind: Kind,
}

/// The copy of the rows that have one of the keys. The literals take the types of their columns, so that the
/// index of the key finds them.
pub(crate) fn copy_sql(readable: &Readable, keys: &[Vec<String>]) -> Result<String, Failure> {
    let Readable { mapped, row_filter, kind } = readable;
    let table = &mapped.table;
    let key = mapped.key();
    let invalid = |why: String| Failure::permanent("key_invalid", why).with_table(table.qualified_name());
    if keys.len() > LOOKUP_KEYS_MAX {
        return Err(invalid(format!("{} keys at once, more than {LOOKUP_KEYS_MAX}", keys.len())));
    }
    if let Some(other) = keys.iter().find(|values| values.len() != key.len() || values.is_empty()) {
        return Err(invalid(format!("a key of {} columns, not {}", other.len(), key.len())));
    }
    let names: Vec<String> = key.iter().map(|&at| format!("t.{}", ident(&table.columns[at].name))).collect();
    let row = |values: &Vec<String>| {
        let literals: Vec<String> = values.iter().map(|text| literal(text)).collect();
        format!("({})", literals.join(", "))
    };
    let rows: Vec<String> = keys.iter().map(row).collect();
    let wanted = match rows.is_empty() {
        true => "false".to_owned(),
        false => format!("({}) IN ({})", names.join(", "), rows.join(", ")),
    };
    let mut conditions = vec![wanted];
    // B170: the stream has only rows that meet it.
    conditions.extend(row_filter.as_ref().map(|filter| format!("({filter})")));
    let only = if *kind == Kind::Partitioned { "" } else { "ONLY " };
    let relation = format!("{only}{}", qualified(&table.schema, &table.name));
    Ok(copy_of(&relation, mapped, &conditions))
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Column, Table, Type};

    use super::*;

    fn readable(kind: Kind) -> Readable {
        let column = |name: &str, key| Column {
            name: name.to_owned(),
            data_type: Type::Text,
            type_name: "text".to_owned(),
            nullable: false,
            key,
            attribute: 1,
        };
        let columns = vec![column("b", 2), column("a", 1), column("c", 0)];
        let table = Table { id: 7, schema: "public".to_owned(), name: "t".to_owned(), version: 1, columns };
        Readable { mapped: Mapped { table, decoders: Vec::new(), sent: None }, row_filter: None, kind }
    }

    fn key(values: &[&str]) -> Vec<String> {
        values.iter().map(|&value| value.to_owned()).collect()
    }

    #[test]
    fn keys_are_told_in_their_own_order_and_as_literals() {
        let sql = copy_sql(&readable(Kind::Ordinary), &[key(&["1", "it's"]), key(&["2", "x"])]);
        assert_eq!(
            sql.expect("keys"),
            r#"COPY (SELECT t."b", t."a", t."c" FROM ONLY "public"."t" AS t WHERE (t."a", t."b") IN (('1', 'it''s'), ('2', 'x'))) TO STDOUT"#
        );
        let sql = copy_sql(&readable(Kind::Partitioned), &[]).expect("no keys");
        assert!(sql.contains(r#"FROM "public"."t" AS t WHERE false"#), "{sql}");
    }

    #[test]
    fn a_key_with_other_columns_and_too_many_keys_are_refused() {
        for keys in [vec![key(&["1"])], vec![key(&[])], vec![key(&["1", "2"]); LOOKUP_KEYS_MAX + 1]] {
            assert_eq!(copy_sql(&readable(Kind::Ordinary), &keys).expect_err("refused").code, "key_invalid");
        }
    }
}
