//! Columns that a script adds to its tables: declared at its top level, as
//! `tarn.column("public.users", "full_name", "text")`, and assigned like any other.

use tarn_script::added::declare;

use crate::lua::{Answer, Lua, Raise};
use crate::session::Phase;

/// Pushes the library.
pub fn push_library(lua: Lua) {
    lua.push_table(0, 1);
    lua.set_function(-1, "column", column);
}

/// `tarn.column(table, name, type)`.
fn column(lua: Lua) -> Answer {
    if lua.session().phase == Phase::Running {
        return Err(lua.fail("tarn.column declares a column where a script begins, not in a function"));
    }
    let declared = {
        let [table, name, type_name] = [1, 2, 3].map(|index| text(lua, index));
        let (table, name, type_name) = (table?, name?, type_name?);
        declare(&mut lua.session().added, table, name, type_name)
    };
    declared.map_err(|reason| lua.fail(reason))?;
    Ok(0)
}

fn text(lua: Lua, index: i32) -> Result<String, Raise> {
    let text = lua.bytes(index).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let text = text.filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| {
        lua.fail("tarn.column takes the name of a table, that of the column, and its type, as text")
    })
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Batch, Before, Cell, Op, Type};

    use crate::lua::tests::run;
    use crate::runtime::tests::apply;
    use tarn_script::fixture::{ID, batch, insert, rows, users};

    const DECLARED: &str = "tarn.column('public.users', 'loud', 'text')
        tarn.column('public.users', 'sum', 'numeric(12,2)')
        tarn.column('public.others', 'x', 'bigint[]')\n";

    fn transformed(body: &str, row: tarn_script::fixture::Images<'_>) -> crate::Applied {
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
            ("'public.t', 'x', 'money'", "there is no type \"money\""),
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
