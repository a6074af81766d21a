//! Records and rows.

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
    reject(&format!("throw String({expression})"), row).message
}

#[test]
fn members_say_what_happened() {
    for (expression, of_insert, of_update, of_delete) in [
        ("r.kind", "insert", "update", "delete"),
        ("r.row.id", "5", "9", "5"),
        ("typeof r.row.id", "bigint", "bigint", "bigint"),
        ("r.new?.id", "5", "9", "undefined"),
        ("r.old?.id", "undefined", "5", "5"),
        ("r.old === null", "true", "false", "false"),
        ("r.row === r.new", "true", "true", "false"),
        ("r.row === r.old", "false", "false", "true"),
        ("r.row === r.row", "true", "true", "true"),
        ("r.source", "public.users", "public.users", "public.users"),
        ("r.target", "people", "people", "people"),
        ("r.checkpoint", "4660", "4660", "4660"),
        ("r.transactionId", "77", "77", "77"),
        ("r.transaction_id === r.transactionId", "true", "true", "true"),
        ("r.commitTime.epochMicroseconds", "1000000", "1000000", "1000000"),
        ("r.commit_time.equals(r.commitTime)", "true", "true", "true"),
        ("r.prefix", "null", "null", "null"),
        ("r.content", "null", "null", "null"),
        ("r.unchangedColumns", "null", "note", "null"),
        ("r.unchanged_columns", "null", "note", "null"),
        ("Object.keys(r.row).length", "3", "3", "3"),
        ("r.row", "row", "row", "row"),
        ("r", "[object Record]", "[object Record]", "[object Record]"),
    ] {
        assert_eq!(says(expression, insert()), of_insert, "{expression}");
        assert_eq!(says(expression, update()), of_update, "{expression}");
        assert_eq!(says(expression, delete()), of_delete, "{expression}");
    }
}

#[test]
fn an_unchanged_column_is_undefined_and_stays_unchanged_unless_assigned() {
    assert_eq!(says("r.row.note", update()), "undefined");
    assert_eq!(rows(&accept("return r", update())), ["9,Eva,?<5,Ada,~"]);
    assert_eq!(rows(&accept("r.row.name = 'x'; return r", update())), ["9,x,?<5,Ada,~"]);
    assert_eq!(rows(&accept("r.row.note = r.row.note; return r", update())), ["9,Eva,?<5,Ada,~"]);
    assert_eq!(rows(&accept("r.row.note = 'new'; return r", update())), ["9,Eva,new<5,Ada,~"]);
    assert_eq!(rows(&accept("r.row.note = null; return r", update())), ["9,Eva,~<5,Ada,~"]);
    assert_eq!(says("(r.row.note = 'new', r.unchangedColumns.length)", update()), "0");
    assert_eq!(
        reject("r.row.name = undefined", insert()).message,
        "column name (text) of public.users takes text, not an undefined value (in onRecord, column 14)"
    );
}

#[test]
fn null_is_null_in_both_directions() {
    assert_eq!(says("r.row.note", insert()), "null");
    assert_eq!(rows(&accept("r.row.name = null; return r", insert())), ["5,~,~"]);
    assert_eq!(rows(&accept("r.row.name = null; r.row.name = 'back'; return r", insert())), ["5,back,~"]);
    assert!(
        reject("r.row.id = null", insert())
            .message
            .starts_with("column id (bigint) of public.users cannot be null")
    );
}

#[test]
fn both_rows_of_an_update_can_be_changed() {
    assert_eq!(
        rows(&accept("r.old.name = 'was'; r.new.name = 'is'; return r", update())),
        ["9,is,?<5,was,~"]
    );
    assert_eq!(rows(&accept("r.row.id = 6; return r.row", delete())), ["<6,?,?"]);
    assert_eq!(rows(&accept("r.row.name = null; return r.row", delete())), ["<5,~,?"]);
    assert!(reject("return r.old", update()).message.contains("the row before the change"));
    assert!(reject("r.old.name = 'x'", insert()).message.contains("of null"));
}

#[test]
fn a_truncate_passes_by() {
    let given = batch(&users(), &[(Op::Truncate, None, None)]);
    assert_eq!(apply("function onRecord(r) { throw 'not called' }", &given).batch, given);
}

#[test]
fn rows_are_objects_of_their_columns() {
    for (expression, said) in [
        ("Object.keys(r.row)", "id,name,note"),
        ("Object.values(r.row)", "5,Ada,"),
        ("Object.entries(r.row)", "id,5,name,Ada,note,"),
        ("[...r.row]", "id,5,name,Ada,note,"),
        (
            "(() => { let s = ''; for (const [k, v] of r.row) s += `${k}=${v};`; return s })()",
            "id=5;name=Ada;note=null;",
        ),
        ("(() => { let s = ''; for (const k in r.row) s += k; return s })()", "idnamenote"),
        ("'name' in r.row", "true"),
        ("'nome' in r.row", "false"),
        ("Object.hasOwn(r.row, 'name')", "true"),
        ("r.row.hasOwnProperty('nome')", "false"),
        ("({ ...r.row, extra: 1 }).name", "Ada"),
        ("(({ id, ...rest }) => Object.keys(rest))(r.row)", "name,note"),
        ("Object.assign({}, r.row).id", "5"),
        ("r.row['na' + 'me']", "Ada"),
        ("tarn.kind(r.row, 'id')", "bigint"),
        ("tarn.text(r.row, 'id') + typeof tarn.text(r.row, 'id')", "5string"),
        ("JSON.stringify(r.row)", r#"{"id":5,"name":"Ada","note":null}"#),
        ("JSON.stringify(r).includes('\"checkpoint\":4660')", "true"),
        ("tarn.json.encode(r.row)", r#"{"id":5,"name":"Ada","note":null}"#),
        ("Object.isExtensible(r.row)", "false"),
        ("structured(r.row)", "5"),
    ] {
        let body = format!("const structured = row => row.id; throw String({expression})");
        assert_eq!(reject(&body, insert()).message, said, "{expression}");
    }
    assert_eq!(says("tarn.json.encode(r.row)", update()), r#"{"id":9,"name":"Eva"}"#);
    assert_eq!(says("tarn.text(r.row, 'note')", update()), "undefined");
    assert_eq!(
        says("tarn.json.encode(r)", update()),
        r#"{"kind":"update","old":{"id":5,"name":"Ada","note":null},"new":{"id":9,"name":"Eva"},"checkpoint":4660,"commit_time":"1970-01-01T00:00:01Z","transaction_id":77,"source":"public.users","unchanged_columns":["note"]}"#
    );
}

#[test]
fn what_is_no_column_is_an_error_that_names_it() {
    let rejection = reject("const x = 1;\nconst y = r.row.emial;", insert());
    assert_eq!(rejection.line, 3);
    assert!(rejection.message.starts_with("table public.users has no column \"emial\" (in onRecord"));
    for (body, reason) in [
        ("r.row.extra = 1", "no column \"extra\""),
        ("r.row[0]", "no column \"0\""),
        ("delete r.row.name", "the columns of a row are fixed"),
        ("Object.defineProperty(r.row, 'name', { value: 'x' })", "the columns of a row are fixed"),
        ("Object.create(r.row).name = 'x'", "the columns of a row are fixed"),
        ("Object.setPrototypeOf(r.row, null)", "not extensible"),
        ("r.row = null", "no setter for property"),
        ("r.extra = 1", "object is not extensible"),
        ("tarn.kind(r.row, 'nome')", "no column \"nome\""),
        ("tarn.kind({}, 'id')", "a row is needed here, not an object"),
        (
            "Object.getOwnPropertyDescriptor(Object.getPrototypeOf(r), 'row').get.call({})",
            "a record is needed here",
        ),
    ] {
        let message = reject(body, insert()).message;
        assert!(message.contains(reason), "{body}: {message}");
    }
    // The language asks these of every object.
    assert_eq!(says("r.row.then", insert()), "undefined");
    assert_eq!(says("r.row[Symbol.iterator] === undefined", insert()), "false");
}

#[test]
fn errors_carry_line_column_and_function() {
    let id = "column id (bigint) of public.users";
    for (body, line, message) in [
        ("\nthrow new Error('a')", 3, "a (in onRecord, column 11)"),
        ("throw 'a'", 0, "a"),
        ("\n\nthrow { code: 1 }", 0, "{\"code\":1}"),
        ("throw null", 0, "null"),
        ("const x = null; x.y", 2, "TypeError: cannot read property 'y' of null (in onRecord, column 17)"),
        ("\nr.row.id = 'x'", 3, &format!("{id} takes the text of a number, and this string is none")),
        ("\nr.row.id = {}", 3, &format!("{id} takes a whole number, not an object value")),
        ("r.row.id = 1.5", 2, &format!("{id} cannot hold this number exactly")),
        (
            "[1].map(function inner() { undefinedName })",
            2,
            "ReferenceError: undefinedName is not defined (in inner, column ",
        ),
        ("class Mine extends Error { name = 'Mine' }\nthrow new Mine('x')", 3, "Mine: x (in onRecord"),
    ] {
        let rejection = reject(body, insert());
        assert!(rejection.message.starts_with(message), "{body}: {rejection:?}");
        assert_eq!(rejection.line, line, "{body}: {rejection:?}");
    }
}

#[test]
fn a_script_can_catch_its_errors() {
    let body = "try { r.row.id = 1.5 } catch (error) { r.row.note = error.message } return r";
    let note = "column id (bigint) of public.users cannot hold this number exactly";
    assert_eq!(rows(&accept(body, insert())), [format!("5,Ada,{note}")]);
}

#[test]
fn a_record_is_the_same_object_again_only_while_nobody_kept_it() {
    let given = batch(&users(), &[insert(), insert(), insert()]);
    let kept = "let first; function onRecord(r) { first ??= r; r.row.note = String(first === r); return r }";
    assert_eq!(rows(&apply(kept, &given)), ["5,Ada,true", "5,Ada,false", "5,Ada,false"]);
    let stale = "let kept; function onRecord(r) { const before = kept; kept = r.row;\nif (before) before.name; return r }";
    let applied = apply(stale, &given);
    assert_eq!((applied.rows, applied.rejected[0].line), (1, 2));
    assert!(applied.rejected[0].message.contains("this row belongs to an earlier record"));
    let returned = "let kept; function onRecord(r) { const before = kept; kept = r.row; return before ?? r }";
    assert!(apply(returned, &given).rejected[0].message.contains("a row of an earlier record"));
    let record =
        "let kept; function onRecord(r) { const before = kept; kept = r; return before ? before.row : r }";
    assert!(apply(record, &given).rejected[0].message.contains("this record is an earlier one"));
}
