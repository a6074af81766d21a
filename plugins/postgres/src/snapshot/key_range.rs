//! Ranges of keys, for servers that do not read ranges of row addresses as ranges.
//!
//! The bounds are keys of a sample of the table's blocks, as the server orders them: whatever types a key has, nothing is
//! computed with it, and a key is never NULL. The ranges of a plan cover every key in any order there may be: a key
//! that is not below a bound is above it, and is then below the next one or above that, too.
//!
//! A range is read by the index of the key, so that a table is cut by it only where rows that follow each other by their
//! key mostly lie together. Where they do not, each range would read most of the table.

use serde::{Deserialize, Serialize};
use tarn_sdk::Failure;
use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::sql::postgres::{ident, literal};

use super::plan::Leaf;
use crate::config::{KEY_READS_MAX, KEY_SAMPLE_BLOCKS};
use crate::peer::{Peer, Session, flag, number, text};
use crate::side::Side;
use crate::surroundings::meanwhile;

/// SQLSTATE of what a role may not read: with rights on columns alone, it is not told where rows lie.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// A range of a relation's keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRange {
    key: Vec<KeyColumn>,
    /// The first key; nothing for the first range.
    from: Option<Vec<String>>,
    /// The first key after it; nothing for the last range.
    to: Option<Vec<String>>,
}

/// A column of the key as it was when the relation was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeyColumn {
    attribute: i32,
    /// What its values are ordered by.
    type_oid: u32,
    collation: Option<String>,
}

impl KeyRange {
    /// The conditions of its rows, which are called `t`, with the key's columns under these names.
    pub(crate) fn conditions(&self, names: &[String]) -> Vec<String> {
        let columns: Vec<String> = names.iter().map(|name| format!("t.{}", ident(name))).collect();
        let columns = columns.join(", ");
        let condition = |operator: &str, bound: &Vec<String>| {
            // The literals take the types of their columns.
            let values: Vec<String> = bound.iter().map(|value| literal(value)).collect();
            format!("({columns}) {operator} ({})", values.join(", "))
        };
        let from = self.from.as_ref().map(|bound| condition(">=", bound));
        let to = self.to.as_ref().map(|bound| condition("<", bound));
        from.into_iter().chain(to).collect()
    }

    /// The names of the key's columns in a relation that is locked; nothing where they are not what they were when it was
    /// cut, so that rows may be ordered otherwise, or have no key.
    pub(crate) fn names<S: Session>(
        &self,
        session: &mut S,
        leaf: u32,
        relation: &str,
    ) -> Result<Option<Vec<String>>, Error> {
        let attributes: Vec<String> = self.key.iter().map(|column| column.attribute.to_string()).collect();
        // As the transaction sees the catalog: so are the rows that it reads.
        let rows = session.query(&format!(
            "SELECT count(*) FROM pg_catalog.pg_attribute
             WHERE attrelid = '{leaf}'::oid AND attnum IN ({}) AND attnotnull AND NOT attisdropped",
            attributes.join(", ")
        ))?;
        if rows.first().and_then(|row| row.first().cloned().flatten()) != Some(self.key.len().to_string()) {
            return Ok(None);
        }
        // As it is now: so are names understood. Names do not change any more.
        let name = |attribute: &String| {
            format!(
                "(pg_catalog.pg_identify_object_as_address('pg_catalog.pg_class'::regclass, '{leaf}'::oid, \
                 {attribute})).object_names[3]"
            )
        };
        let names: Vec<String> = attributes.iter().map(name).collect();
        let rows = session.query(&format!("SELECT {}", names.join(", ")))?;
        let names: Option<Vec<String>> = rows.into_iter().next().and_then(|row| row.into_iter().collect());
        let Some(names) = names else { return Ok(None) };
        let found = ordered_by(|sql| session.query(sql), relation, &names)?;
        let is_same =
            self.key.iter().map(KeyColumn::order).eq(found.iter().map(|(oid, name)| (*oid, name.as_deref())));
        Ok(is_same.then_some(names))
    }
}

impl KeyColumn {
    fn order(&self) -> (u32, Option<&str>) {
        (self.type_oid, self.collation.as_deref())
    }
}

/// What the columns of a relation are ordered by: the type, and the collation where it has one.
fn ordered_by(
    mut read: impl FnMut(&str) -> Result<Vec<Row>, Error>,
    relation: &str,
    names: &[String],
) -> Result<Vec<(u32, Option<String>)>, Error> {
    let column = |name: &String| {
        let value = format!("(NULL::{relation}).{}", ident(name));
        format!(
            "pg_catalog.pg_typeof({value})::oid,
             CASE WHEN (SELECT y.typcollation <> 0 FROM pg_catalog.pg_type AS y WHERE y.oid = pg_catalog.pg_typeof({value}))
             THEN pg_catalog.pg_collation_for({value}) END"
        )
    };
    let columns: Vec<String> = names.iter().map(column).collect();
    let rows = read(&format!("SELECT {}", columns.join(", ")))?;
    let row = rows.into_iter().next().unwrap_or_default();
    let order = |pair: &[Option<String>]| {
        let type_oid = pair.first()?.as_ref()?.parse().ok()?;
        Some((type_oid, pair.get(1)?.clone()))
    };
    Ok(row.chunks(2).filter_map(order).collect())
}

/// Cuts a leaf into at most `count` ranges of about as many rows; nothing where a range would not be read as one.
pub(super) fn cut<P: Peer>(
    side: &mut Side<P>,
    leaf: &Leaf,
    key: &[String],
    count: u64,
) -> Result<Option<Vec<KeyRange>>, Failure> {
    let Some(key_columns) = key_columns(side, leaf, key)? else { return Ok(None) };
    let columns: Vec<String> = key.iter().map(|name| format!("t.{}", ident(name))).collect();
    let columns = columns.join(", ");
    let aliases: Vec<String> = (0..key.len()).map(|place| format!("k{place}")).collect();
    let aliases = aliases.join(", ");
    let percent = sampled_percent(leaf);
    // A block's rows in many ranges are read as often.
    let sql = format!(
        "WITH sampled (block, range, {aliases}) AS MATERIALIZED (
           SELECT (t.ctid::text::point)[0], ntile({count}) OVER (ORDER BY {columns}), {columns}
           FROM ONLY {} AS t TABLESAMPLE SYSTEM ({percent})),
         spread (reads) AS (
           SELECT count(DISTINCT (block, range))::float8 / greatest(count(DISTINCT block), 1) FROM sampled)
         SELECT spread.reads <= {KEY_READS_MAX}, {aliases}
         FROM (SELECT DISTINCT ON (range) * FROM sampled ORDER BY range, {aliases}) AS first, spread
         WHERE first.range > 1 ORDER BY first.range",
        leaf.sql
    );
    let rows = match side.read(&sql) {
        Err(error) if error.sqlstate == INSUFFICIENT_PRIVILEGE => return Ok(None),
        rows => rows.map_err(meanwhile)?,
    };
    if rows.is_empty() || rows.iter().any(|row| !flag(row, 0)) {
        return Ok(None);
    }
    let bounds: Option<Vec<Vec<String>>> =
        rows.into_iter().map(|row| row.into_iter().skip(1).collect::<Option<Vec<String>>>()).collect();
    Ok(bounds.map(|bounds| ranges(&key_columns, &bounds)))
}

/// The share of a leaf's blocks that is looked at, in percent.
pub(super) fn sampled_percent(leaf: &Leaf) -> f64 {
    (100.0 * KEY_SAMPLE_BLOCKS as f64 / leaf.blocks().max(1) as f64).min(100.0)
}

/// Ranges that meet at the bounds.
fn ranges(key: &[KeyColumn], bounds: &[Vec<String>]) -> Vec<KeyRange> {
    let ends = bounds.iter().cloned().map(Some).chain([None]);
    let mut from = None;
    ends.map(|to| {
        let range = KeyRange { key: key.to_vec(), from: from.take(), to: to.clone() };
        from = to;
        range
    })
    .collect()
}

/// The columns of these names; nothing where one is not there.
fn key_columns<P: Peer>(
    side: &mut Side<P>,
    leaf: &Leaf,
    names: &[String],
) -> Result<Option<Vec<KeyColumn>>, Failure> {
    if names.is_empty() {
        return Ok(None);
    }
    let literals: Vec<String> = names.iter().map(|name| format!("{}::name", literal(name))).collect();
    let rows = side.read(&format!(
        "SELECT attname, attnum FROM pg_catalog.pg_attribute
         WHERE attrelid = '{}'::oid AND attname IN ({}) AND attnum > 0 AND attnotnull AND NOT attisdropped",
        leaf.oid,
        literals.join(", ")
    ))?;
    let orders = ordered_by(|sql| side.read(sql), &leaf.sql, names).map_err(meanwhile)?;
    let mut columns = Vec::with_capacity(names.len());
    for (name, (type_oid, collation)) in names.iter().zip(orders) {
        for row in &rows {
            if text(row, 0)? == name {
                columns.push(KeyColumn {
                    attribute: number(row, 1)?,
                    type_oid,
                    collation: collation.clone(),
                });
            }
        }
    }
    Ok((columns.len() == names.len()).then_some(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Vec<KeyColumn> {
        vec![
            KeyColumn { attribute: 1, type_oid: 23, collation: None },
            KeyColumn { attribute: 3, type_oid: 25, collation: Some("\"C\"".to_owned()) },
        ]
    }

    fn bound(number: i64, text: &str) -> Vec<String> {
        vec![number.to_string(), text.to_owned()]
    }

    #[test]
    fn ranges_meet_at_the_bounds_and_are_open_at_both_ends() {
        let names = ["a".to_owned(), "B\"c".to_owned()];
        let ranges = ranges(&key(), &[bound(-5, "it's"), bound(7, "")]);
        let conditions: Vec<Vec<String>> = ranges.iter().map(|range| range.conditions(&names)).collect();
        let [first, second] = ["('-5', 'it''s')", "('7', '')"];
        let columns = r#"(t."a", t."B""c")"#;
        assert_eq!(
            conditions,
            [
                vec![format!("{columns} < {first}")],
                vec![format!("{columns} >= {first}"), format!("{columns} < {second}")],
                vec![format!("{columns} >= {second}")],
            ]
        );
    }

    #[test]
    fn a_sample_has_about_as_many_blocks_whatever_the_size() {
        let leaf = |blocks: u64| Leaf { bytes: blocks * 8192, block_bytes: 8192, ..Leaf::default() };
        assert_eq!(sampled_percent(&leaf(1)), 100.0);
        assert_eq!(sampled_percent(&leaf(0)), 100.0);
        let share = sampled_percent(&leaf(1_000_000)) / 100.0;
        assert!((share * 1e6 - KEY_SAMPLE_BLOCKS as f64).abs() < 1.0);
    }
}
