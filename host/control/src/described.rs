//! Batches that describe tables, with a part of their tables.

use bytes::Bytes;
use tarn_batch::{Batch, BatchWriter, split_table_name};
use tarn_model::Failure;

/// The name of a table that settings may have in quotes as connectors tell it: `schema.name`, as it is. What is no such
/// name stays.
pub(crate) fn told_name(setting: &str) -> String {
    split_table_name(setting).map_or_else(|| setting.to_owned(), |(schema, name)| format!("{schema}.{name}"))
}

/// The descriptions of the tables that `keep` takes by their told names; `None` where it takes none.
pub(crate) fn kept_tables(schema: &Bytes, keep: impl Fn(&str) -> bool) -> Result<Option<Bytes>, Failure> {
    let damaged =
        |error| Failure::permanent("batch_damaged", format!("a description of tables is damaged: {error}"));
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
        let batch = Batch::parse(&part).expect("a batch");
        let told: Vec<_> = batch
            .rows()
            .map(|row| {
                let row = row.expect("a row");
                let name = batch.table(&row).name.clone();
                let cell = row.after().next().expect("a cell").expect("whole");
                let Cell::Value(value) = cell else { panic!("{cell:?}") };
                (name, value.to_vec())
            })
            .collect();
        assert_eq!(told, [("a".to_owned(), b"a".to_vec()), ("c".to_owned(), b"c".to_vec())]);
        assert_eq!(batch.tables().len(), 2);
        assert_eq!(kept_tables(&described(), |_| false), Ok(None));
        assert_eq!(kept_tables(&described(), |_| true), Ok(Some(described())));
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
