use tarn_batch::{Before, Cell, Op};

use tarn_script::fixture::{ID, Images, batch, insert, rows, users};

use super::{accept, apply, reject};

const NINE: [u8; 8] = 9_i64.to_le_bytes();

/// An update that did not send the note, with the whole row before it.
fn update<'a>() -> Images<'a> {
    (
        Op::Update,
        Some([Cell::Value(&NINE), Cell::Value(b"Eva"), Cell::Unchanged]),
        Some((Before::Full, [Cell::Value(&ID), Cell::Value(b"Ada"), Cell::Null])),
    )
}

/// A delete that says the key alone.
fn delete<'a>() -> Images<'a> {
    (Op::Delete, None, Some((Before::Key, [Cell::Value(&ID), Cell::Unchanged, Cell::Unchanged])))
}

/// What an expression over `r` says.
fn says(expression: &str, row: Images<'_>) -> String {
    reject(&format!("error(tostring({expression}), 0)"), row).message
}

#[test]
fn members_say_what_happened() {
    for (expression, of_insert, of_update, of_delete) in [
        ("r.kind", "insert", "update", "delete"),
        ("r.row.id", "5", "9", "5"),
        ("r.new and r.new.id", "5", "9", "nil"),
        ("r.old and r.old.id", "nil", "5", "5"),
        ("r.row == r.new", "true", "true", "false"),
        ("r.row == r.old", "false", "false", "true"),
        ("r.source", "public.users", "public.users", "public.users"),
        ("r.target", "people", "people", "people"),
        ("r.checkpoint", "4660", "4660", "4660"),
        ("r.transaction_id", "77", "77", "77"),
        ("r.commit_time.unix_micro", "1000000", "1000000", "1000000"),
        ("r.prefix", "nil", "nil", "nil"),
        ("r.content", "nil", "nil", "nil"),
        ("r.unchanged_columns and next(r.unchanged_columns)", "nil", "note", "nil"),
        ("#r.row", "3", "3", "3"),
        ("r.row", "row of public.users", "row of public.users", "row of public.users"),
        ("r", "record", "record", "record"),
    ] {
        assert_eq!(says(expression, insert()), of_insert, "{expression}");
        assert_eq!(says(expression, update()), of_update, "{expression}");
        assert_eq!(says(expression, delete()), of_delete, "{expression}");
    }
}

#[test]
fn an_unchanged_column_reads_nil_and_stays_unchanged_unless_assigned() {
    assert_eq!(says("r.row.note", update()), "nil");
    assert_eq!(rows(&accept("return r", update())), ["9,Eva,?<5,Ada,~"]);
    assert_eq!(rows(&accept("r.row.name = 'x' return r", update())), ["9,x,?<5,Ada,~"]);
    // A function of a missing value is mostly missing itself: that must not empty the stored value.
    assert_eq!(rows(&accept("r.row.note = r.row.note return r", update())), ["9,Eva,?<5,Ada,~"]);
    assert_eq!(rows(&accept("r.row.note = 'new' return r", update())), ["9,Eva,new<5,Ada,~"]);
    assert_eq!(
        says("(function() r.row.note = 'new' return next(r.unchanged_columns) end)()", update()),
        "nil"
    );
}

#[test]
fn null_is_nil_in_both_directions() {
    assert_eq!(says("r.row.note", insert()), "nil");
    assert_eq!(rows(&accept("r.row.name = nil return r", insert())), ["5,~,~"]);
    assert_eq!(rows(&accept("r.row.name = nil r.row.name = 'back' return r", insert())), ["5,back,~"]);
    assert_eq!(
        reject("r.row.id = nil", insert()).message,
        "column id (bigint) of public.users cannot be null"
    );
}

#[test]
fn both_rows_of_an_update_can_be_changed() {
    assert_eq!(rows(&accept("r.old.name = 'was' r.new.name = 'is' return r", update())), ["9,is,?<5,was,~"]);
    assert_eq!(rows(&accept("r.row.id = 6 return r.row", delete())), ["<6,?,?"]);
    assert_eq!(rows(&accept("r.row.name = nil return r.row", delete())), ["<5,?,?"]);
    assert!(reject("return r.old", update()).message.contains("the row before the change"));
    assert!(
        reject("r.old.name = 'x'", insert()).message.contains("attempt to index a nil value (field 'old')")
    );
}

#[test]
fn a_truncate_passes_by() {
    let given = batch(&users(), &[(Op::Truncate, None, None)]);
    assert_eq!(apply("function onRecord(r) error('not called') end", &given).batch, given);
}

#[test]
fn rows_are_walked_in_the_order_of_columns() {
    let walk =
        "local s = '' for k, v in pairs(r.row) do s = s .. k .. '=' .. tostring(v) .. ';' end error(s, 0)";
    assert_eq!(reject(walk, insert()).message, "id=5;name=Ada;note=nil;");
    assert_eq!(says("table.concat(peerdb.RowColumns(r.row), ' ')", insert()), "id name note");
    assert_eq!(says("peerdb.RowColumnKind(r.row, 'id')", insert()), "int64");
    assert_eq!(says("peerdb.RowTable(r.row).name", insert()), "Ada");
    assert_eq!(says("require('json').encode(r.row)", insert()), r#"{"id":5,"name":"Ada","note":null}"#);
    assert_eq!(says("require('json').encode(r.row)", update()), r#"{"id":9,"name":"Eva"}"#);
}

#[test]
fn an_unknown_column_is_an_error_that_names_it() {
    let rejection = reject("local x = 1\nlocal y = r.row.emial", insert());
    assert_eq!((rejection.line, &*rejection.message), (3, "table public.users has no column \"emial\""));
    assert!(reject("r.row.extra = 1", insert()).message.contains("no column \"extra\""));
    assert!(reject("local y = r.row[1]", insert()).message.contains("indexed by the names"));
    assert!(reject("r.row = nil", insert()).message.contains("assign to the columns of r.row"));
}

#[test]
fn errors_carry_their_line() {
    let id = "column id (bigint) of public.users";
    for (body, line, message) in [
        ("\nerror('a')", 3, "a"),
        ("error('a', 0)", 2, "a"),
        ("\n\nerror({code = 1})", 4, "{\"code\":1}"),
        ("error(setmetatable({}, {__tostring = function() return 'mine' end}))", 2, "mine"),
        ("error()", 2, "nil"),
        ("local x = nil + 1", 2, "attempt to perform arithmetic on a nil value"),
        ("\nr.row.id = 'x'", 3, &format!("{id} takes the text of a number, and this string is none")),
        ("\nr.row.id = {}", 3, &format!("{id} takes a whole number, not a table value")),
        ("string.rep()", 2, "bad argument #1 to 'rep'"),
    ] {
        let rejection = reject(body, insert());
        assert!(rejection.message.starts_with(message), "{body}: {rejection:?}");
        assert_eq!(rejection.line, line, "{body}: {rejection:?}");
    }
}

#[test]
fn a_script_can_catch_its_errors() {
    let body = "local ok, e = pcall(function() r.row.id = 1.5 end) r.row.note = e return r";
    let note = "script:1: column id (bigint) of public.users cannot hold this number exactly";
    assert_eq!(rows(&accept(body, insert())), [format!("5,Ada,{note}")]);
}
