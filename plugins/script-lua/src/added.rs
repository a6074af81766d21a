//! Columns that a script adds to its tables: declared at its top level, as
//! `tarn.column("public.users", "full_name", "text")`, and assigned like any other.

use tarn_batch::{Column, Table, Type};

use crate::config::ADDED_COLUMNS_MAX;
use crate::lua::{Answer, Lua, Raise};
use crate::session::Phase;

/// A column that a script declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The qualified name of its table.
    table: String,
    column: Column,
}

/// Pushes the library.
pub fn push_library(lua: Lua) {
    lua.push_table(0, 1);
    lua.set_function(-1, "column", declare);
}

/// `tarn.column(table, name, type)`.
fn declare(lua: Lua) -> Answer {
    if lua.session().phase == Phase::Running {
        return Err(lua.fail("tarn.column declares a column where a script begins, not in a function"));
    }
    let added = {
        let [table, name, type_name] = [1, 2, 3].map(|index| text(lua, index));
        let (table, name, type_name) = (table?, name?, type_name?);
        match data_type(&type_name) {
            Some(data_type) => Added {
                table,
                column: Column {
                    attribute: number(&name),
                    name,
                    data_type,
                    type_name,
                    nullable: true,
                    key: 0,
                },
            },
            None => {
                return Err(lua.fail(format_args!(
                    "there is no type \"{type_name}\" for a column: name one as PostgreSQL does, such as text, \
                     bigint, numeric(12,2) or timestamptz"
                )));
            }
        }
    };
    let all = &mut lua.session().added;
    let same = |other: &Added| other.table == added.table && other.column.name == added.column.name;
    if all.iter().any(same) {
        return Err(lua.fail(format_args!("the column {} is declared twice", added.column.name)));
    }
    if all.len() == ADDED_COLUMNS_MAX {
        return Err(lua.fail(format_args!("a script declares at most {ADDED_COLUMNS_MAX} columns")));
    }
    all.push(added);
    Ok(0)
}

fn text(lua: Lua, index: i32) -> Result<String, Raise> {
    let text = lua.bytes(index).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let text = text.filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| {
        lua.fail("tarn.column takes the name of a table, that of the column, and its type, as text")
    })
}

/// A type by its name in PostgreSQL.
fn data_type(name: &str) -> Option<Type> {
    if let Some(element) = name.strip_suffix("[]") {
        return data_type(element).filter(|element| !matches!(element, Type::Array(_))).map(Type::array);
    }
    if let Some(modifiers) = name.strip_prefix("numeric(").and_then(|rest| rest.strip_suffix(')')) {
        let (precision, scale) = modifiers.split_once(',').unwrap_or((modifiers, "0"));
        let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
        let fits = (1..=1_000).contains(&precision) && (-1_000..=1_000).contains(&scale);
        return fits.then_some(Type::Numeric { precision, scale });
    }
    Some(match name {
        "boolean" => Type::Bool,
        "smallint" => Type::Int2,
        "integer" => Type::Int4,
        "bigint" => Type::Int8,
        "real" => Type::Float4,
        "double precision" => Type::Float8,
        "numeric" => Type::Numeric { precision: 0, scale: 0 },
        "text" => Type::Text,
        "bytea" => Type::Bytes,
        "date" => Type::Date,
        "time" => Type::Time,
        "timetz" => Type::TimeTz,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::TimestampTz,
        "interval" => Type::Interval,
        "uuid" => Type::Uuid,
        "json" | "jsonb" => Type::Json,
        _ => return None,
    })
}

/// The number of a column that a source did not number: negative, and the same for the same name.
fn number(name: &str) -> i32 {
    -((hash(name.as_bytes()) & 0x3fff_ffff) as i32) - 1
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A table with the columns that a script adds to it. One that the source has by now is the source's.
pub fn extend(table: &Table, added: &[Added]) -> Table {
    let mut extended = table.clone();
    let source = table.qualified_name();
    for Added { column, .. } in added.iter().filter(|added| added.table == source) {
        if table.columns.iter().all(|own| own.name != column.name) {
            extended.columns.push(column.clone());
            // Other columns are another version.
            let what = format!("{} {}", column.name, column.type_name);
            extended.version = extended.version.wrapping_mul(31).wrapping_add(hash(what.as_bytes()));
        }
    }
    extended
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Batch, Before, Cell, Op, Type};

    use crate::lua::tests::run;
    use crate::runtime::tests::{ID, apply, batch, insert, rows, users};

    const DECLARED: &str = "tarn.column('public.users', 'loud', 'text')
        tarn.column('public.users', 'sum', 'numeric(12,2)')
        tarn.column('public.others', 'x', 'bigint[]')\n";

    fn transformed(body: &str, row: crate::runtime::tests::Images<'_>) -> crate::Applied {
        let source = format!("{DECLARED} function onRecord(r) {body} end");
        let applied = apply(&source, &batch(&users(), &[row]));
        assert_eq!(applied.rejected, [], "{body}");
        applied
    }

    #[test]
    fn a_declared_column_goes_on_with_the_row() {
        let applied = transformed("r.row.loud = r.row.name:upper() r.row.sum = 1.5 return r", insert());
        assert_eq!(rows(&applied), ["5,Ada,~,ADA,1.50"]);
        let parsed = Batch::parse(&applied.batch).expect("sound");
        let columns = &parsed.tables()[0].columns;
        assert_eq!(
            (&*columns[3].name, &columns[3].data_type, columns[3].nullable),
            ("loud", &Type::Text, true)
        );
        assert!(columns[3..].iter().all(|column| column.attribute < 0 && column.key == 0));
        assert_ne!(columns[3].attribute, columns[4].attribute);
        assert_ne!(parsed.tables()[0].version, users().version);
    }

    #[test]
    fn what_is_not_assigned_is_null_or_stays() {
        assert_eq!(rows(&transformed("return r", insert())), ["5,Ada,~,~,~"]);
        let update = (
            Op::Update,
            Some([Cell::Value(&ID), Cell::Value(b"Eva"), Cell::Unchanged]),
            Some((Before::Full, [Cell::Value(&ID), Cell::Value(b"Ada"), Cell::Null])),
        );
        assert_eq!(rows(&transformed("r.row.loud = 'E' return r", update)), ["5,Eva,?,E,?<5,Ada,~,?,?"]);
        let delete =
            (Op::Delete, None, Some((Before::Key, [Cell::Value(&ID), Cell::Unchanged, Cell::Unchanged])));
        assert_eq!(rows(&transformed("return r.row", delete)), ["<5,?,?,?,?"]);
        assert_eq!(rows(&transformed("return r", (Op::Truncate, None, None))), [""]);
    }

    #[test]
    fn a_script_sees_its_columns() {
        let body = "r.row.loud = 'x'
            local names = table.concat(peerdb.RowColumns(r.row), ' ')
            r.row.name = #r.row .. ' ' .. names .. ' ' .. peerdb.RowColumnKind(r.row, 'sum') .. ' ' .. tostring(r.row.sum)
            r.row.note = require('json').encode(r.row)
            return r";
        let said = &rows(&transformed(body, insert()))[0];
        let name = "5 id name note loud sum numeric nil";
        let note = format!(r#"{{"id":5,"name":"{name}","note":null,"loud":"x","sum":null}}"#);
        assert_eq!(*said, format!("5,{name},{note},x,~"));
    }

    #[test]
    fn a_declaration_that_is_wrong_is_refused() {
        for (call, reason) in [
            ("'public.t', 'x', 'varchar'", "there is no type \"varchar\""),
            ("'public.t', 'x', 'numeric(0,2)'", "there is no type"),
            ("'public.t', 'x', 'text[][]'", "there is no type"),
            ("'public.t', 'x'", "takes the name of a table"),
            ("'public.t', '', 'text'", "takes the name of a table"),
            ("'public.t', 'x', 'text') tarn.column('public.t', 'x', 'text'", "declared twice"),
        ] {
            let error = run(&format!("tarn.column({call})")).expect_err(call);
            assert!(error.contains(reason), "{call}: {error}");
        }
        let many = "for i = 1, 1000 do tarn.column('public.t', 'c' .. i, 'text') end";
        assert!(run(many).is_err_and(|error| error.contains("at most 200 columns")));
        let late = "function onRecord(r) tarn.column('public.users', 'x', 'text') end";
        let applied = apply(late, &batch(&users(), &[insert()]));
        assert!(applied.rejected[0].message.contains("where a script begins"), "{:?}", applied.rejected);
    }
}
