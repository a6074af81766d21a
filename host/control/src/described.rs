//! Batches that describe tables, with a part of their tables.

use bytes::Bytes;
use tarn_batch::{Batch, BatchWriter, Table, split_table_name};
use tarn_model::Failure;

/// The name of a table that settings may have in quotes as connectors tell it: `schema.name`, as it is. What is no such
/// name stays.
pub(crate) fn told_name(setting: &str) -> String {
    split_table_name(setting).map_or_else(|| setting.to_owned(), |(schema, name)| format!("{schema}.{name}"))
}

/// The descriptions of the tables that `keep` takes by their told names; `None` where it takes none.
pub(crate) fn kept_tables(schema: &Bytes, keep: impl Fn(&str) -> bool) -> Result<Option<Bytes>, Failure> {
    let described = Batch::parse(schema).map_err(damaged)?;
    let mut writer = BatchWriter::default();
    let places: Vec<_> = described
        .tables()
        .iter()
        .map(|table| keep(&table.qualified_name()).then(|| writer.add_table(table)))
        .collect();
    let kept = places.iter().flatten().count();
    if kept == places.len() {
        return Ok(Some(schema.clone()));
    }
    for row in described.rows() {
        let row = row.map_err(damaged)?;
        if let Some(place) = places[usize::from(row.table_index().0)] {
            writer.append_row(&row, place);
        }
    }
    Ok((kept > 0).then(|| Bytes::from(writer.finish())))
}

/// The told names of a batch's tables.
pub(crate) fn table_names(batch: &Bytes) -> Result<Vec<String>, Failure> {
    let batch = Batch::parse(batch).map_err(damaged)?;
    Ok(batch.tables().iter().map(Table::qualified_name).collect())
}

/// How many tables are described.
pub(crate) fn table_count(schema: &Bytes) -> Result<usize, Failure> {
    Ok(Batch::parse(schema).map_err(damaged)?.tables().len())
}

/// The descriptions in so many parts, each table with all that is told of it in one. Of fewer tables there are fewer parts,
/// but one at least.
pub(crate) fn split_tables(schema: &Bytes, parts: usize) -> Result<Vec<Bytes>, Failure> {
    let described = Batch::parse(schema).map_err(damaged)?;
    let parts = parts.min(described.tables().len());
    if parts <= 1 {
        return Ok(vec![schema.clone()]);
    }
    let mut writers: Vec<_> = (0..parts).map(|_| BatchWriter::default()).collect();
    let places: Vec<_> = described
        .tables()
        .iter()
        .enumerate()
        .map(|(at, table)| (at % parts, writers[at % parts].add_table(table)))
        .collect();
    for row in described.rows() {
        let row = row.map_err(damaged)?;
        let (part, place) = places[usize::from(row.table_index().0)];
        writers[part].append_row(&row, place);
    }
    Ok(writers.into_iter().map(|writer| Bytes::from(writer.finish())).collect())
}

fn damaged(error: tarn_batch::DecodeError) -> Failure {
    Failure::permanent("batch_damaged", format!("a description of tables is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Cell, Column, Op, RowHeader, Table, Type, Version};

    use super::*;

    fn described() -> Bytes {
        let header = RowHeader {
            op: Op::Insert,
            version: Version { commit: 0, ordinal: 0 },
            commit_time_us: RowHeader::TIME_UNKNOWN,
            transaction: 0,
        };
        let mut writer = BatchWriter::default();
        for name in ["a", "b", "c"] {
            let column = Column {
                name: "x".into(),
                data_type: Type::Text,
                type_name: String::new(),
                nullable: true,
                key: 0,
                attribute: 1,
            };
            let columns = vec![column];
            let table = Table { id: 1, schema: "public".into(), name: name.into(), version: 1, columns };
            let place = writer.add_table(&table);
            writer.begin_row(place, &header);
            writer.value(name.as_bytes());
            writer.end_row();
        }
        Bytes::from(writer.finish())
    }

    #[test]
    fn a_part_of_the_tables_keeps_what_is_told_of_them() {
        let part = kept_tables(&described(), |table| table != "public.b").expect("read").expect("two");
        assert_eq!(told(&part), [("a".to_owned(), b"a".to_vec()), ("c".to_owned(), b"c".to_vec())]);
        assert_eq!(table_count(&part), Ok(2));
        assert_eq!(kept_tables(&described(), |_| false), Ok(None));
        assert_eq!(kept_tables(&described(), |_| true), Ok(Some(described())));
    }

    /// The tables that rows tell of, and what they tell.
    fn told(part: &Bytes) -> Vec<(String, Vec<u8>)> {
        let batch = Batch::parse(part).expect("a batch");
        batch
            .rows()
            .map(|row| {
                let row = row.expect("a row");
                let name = batch.table(&row).name.clone();
                let cell = row.after().next().expect("a cell").expect("whole");
                let Cell::Value(value) = cell else { panic!("{cell:?}") };
                (name, value.to_vec())
            })
            .collect()
    }

    #[test]
    fn parts_have_each_table_once_with_what_is_told_of_it() {
        let of = |name: &str| (name.to_owned(), name.as_bytes().to_vec());
        let parts = split_tables(&described(), 2).expect("read");
        assert_eq!(parts.iter().map(told).collect::<Vec<_>>(), [vec![of("a"), of("c")], vec![of("b")]]);
        assert_eq!(parts.iter().map(table_count).collect::<Vec<_>>(), [Ok(2), Ok(1)]);
        assert_eq!(split_tables(&described(), 9).expect("read").len(), 3);
        assert_eq!(split_tables(&described(), 1), Ok(vec![described()]));
    }

    #[test]
    fn a_name_in_quotes_is_told_without_them() {
        for (setting, told) in [
            ("public.a", "public.a"),
            (r#""a.b"."c""#, "a.b.c"),
            (r#""s"."""q""#, r#"s."q"#),
            ("nothing", "nothing"),
        ] {
            assert_eq!(told_name(setting), told);
        }
    }
}
