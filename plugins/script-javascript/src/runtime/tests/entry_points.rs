//! The functions that a script defines, and what they return for a table.

use tarn_script::fixture::{batch, insert, rows, users};

use super::{accept, apply, refused, reject, start};
use crate::Level;

#[test]
fn an_untouched_row_goes_on_byte_for_byte() {
    let given = batch(&users(), &[insert(), insert()]);
    for body in ["return r", "return r.row", "return r.new", "const _ = r.row.name; return r.row"] {
        let applied = apply(&format!("function onRecord(r) {{ {body} }}"), &given);
        assert_eq!(applied.batch, given, "{body}");
        assert_eq!((applied.rows, applied.dropped), (2, 0));
    }
}

#[test]
fn a_row_goes_on_as_changed_and_nothing_drops_it() {
    assert_eq!(rows(&accept("r.row.name = r.row.name.toUpperCase(); return r", insert())), ["5,ADA,~"]);
    assert_eq!(rows(&accept("r.row.id += 1n; r.row.note = 'x'; return r.row", insert())), ["6,Ada,x"]);
    for body in ["", "return null", "return undefined", "return", "const x = r.row"] {
        let applied = accept(body, insert());
        assert_eq!((applied.rows, applied.dropped), (0, 1), "{body}");
    }
}

#[test]
fn what_is_no_row_is_rejected_and_says_what_a_table_takes() {
    for (body, given) in [
        ("return 'x'", "a string"),
        ("return 5", "a number"),
        ("return {}", "an object"),
        ("return { ...r.row }", "an object"),
        ("return [r.row]", "an array"),
        ("return false", "a boolean"),
    ] {
        let message = reject(body, insert()).message;
        let expected = format!(
            "onRecord returned {given}: for a table destination it returns r.row, r or null; messages are for queues"
        );
        assert_eq!(message, expected, "{body}");
    }
}

#[test]
fn entry_points_are_exports_or_functions_of_the_top_level() {
    let named = |source| start(source).0.entry_points();
    assert_eq!(
        named("function onRecord(r) {} const transformRow = console.log"),
        ["onRecord", "transformRow"]
    );
    assert_eq!(named("export const transformRecord = () => {}"), ["transformRecord"]);
    assert_eq!(named("const f = r => r; export { f as onRecord }"), ["onRecord"]);
    assert_eq!(named("export async function onRecord(r) {}"), ["onRecord"]);
    assert_eq!(named("let onRecord = null; export function transformRow() {}"), ["transformRow"]);
    for source in ["const x = 1", "", "// nothing", "const onRecord = 5"] {
        let fault = refused(source);
        assert!(fault.message.starts_with("the script defines no entry point"), "{source}: {fault:?}");
    }
}

#[test]
fn a_generator_is_no_entry_point() {
    for (source, name) in [
        ("export function* transformRow(row) { row.name = 'x' }", "transformRow"),
        ("export async function* transformRecord(r) {}", "transformRecord"),
        ("const onRecord = function* (r) { yield r }", "onRecord"),
        ("function* f(r) { yield r } export { f as onRecord }", "onRecord"),
    ] {
        let message = refused(source).message;
        assert!(message.contains(&format!("{name} is a generator (function*)")), "{source}: {message}");
    }
}

#[test]
fn an_error_is_placed_where_the_script_is() {
    for (body, line, message) in [
        (
            "const d = tarn.Decimal('1');\nreturn d + 1",
            3,
            "TypeError: operators do not calculate with a Decimal",
        ),
        ("\nJSON.parse('{bad')", 3, "SyntaxError: "),
        (
            "class E extends Error { constructor(m) { super(m) } }\nclass F extends E {}\nthrow new F('own')",
            4,
            "own",
        ),
        ("class MyError extends Error {\n constructor(m) { super(m) } }\nthrow new MyError('own')", 4, "own"),
        ("throw { code: 5, message: 'hey' }", 0, "hey (code 5)"),
        ("throw { a: [1] }", 0, "{\"a\":[1]}"),
        ("throw r.row", 0, "a row was thrown"),
        ("throw 'text'", 0, "text"),
        ("throw new AggregateError([new Error('one'), 'two'], 'both')", 2, "AggregateError: both (one; two)"),
        ("throw new Error('why', { cause: new TypeError('this') })", 2, "why (caused by: TypeError: this)"),
    ] {
        let rejection = reject(body, insert());
        assert_eq!(rejection.line, line, "{body}: {rejection:?}");
        assert!(rejection.message.starts_with(message), "{body}: {rejection:?}");
    }
}

#[test]
fn transform_functions_change_rows_in_place() {
    let given = batch(&users(), &[insert()]);
    let applied = apply("function transformRecord(r) { r.row.name = r.kind; return null }", &given);
    assert_eq!(rows(&applied), ["5,insert,~"]);
    let applied = apply("function transformRow(row) { row.note = row.name + '!'; return false }", &given);
    assert_eq!(rows(&applied), ["5,Ada,Ada!"]);
    let both = "const transformRow = row => { row.name = 'snapshot' };
                const transformRecord = r => { r.row.name = 'stream' };";
    assert_eq!(rows(&apply(both, &given)), ["5,stream,~"]);
}

#[test]
fn promises_are_waited_for() {
    assert_eq!(
        rows(&apply(
            "async function onRecord(r) { await null; r.row.name = 'later'; return r }",
            &super::one_user()
        )),
        ["5,later,~"]
    );
    let body = "return Promise.resolve().then(() => { r.row.note = 'x'; return r.row })";
    assert_eq!(rows(&accept(body, insert())), ["5,Ada,x"]);
    assert_eq!(
        reject("return new Promise(() => {})", insert()).message,
        "the function's promise waits for what never comes"
    );
    assert!(
        reject("return Promise.reject(new Error('no'))", insert()).message.starts_with("no (in onRecord")
    );
    // A promise that fails and that nobody looks at is an error too.
    assert!(reject("Promise.reject(new Error('lost')); return r", insert()).message.starts_with("lost"));
    assert_eq!(rows(&accept("Promise.reject(1).catch(() => {}); return r", insert())), ["5,Ada,~"]);
}

#[test]
fn what_a_rejected_record_waits_for_is_no_part_of_the_next() {
    let source = "let n = 0; function onRecord(r) {
          if (++n > 1) return r;
          for (let i = 0; i < 3; i++) Promise.resolve().then(() => { throw new Error('first') });
          queueMicrotask(() => { throw new Error('second') });
          throw new Error('now');
        }";
    let applied = apply(source, &batch(&users(), &[insert(), insert(), insert()]));
    assert_eq!((applied.rows, applied.rejected.len()), (2, 1), "{:?}", applied.rejected);
}

#[test]
fn what_a_script_keeps_between_records_is_kept() {
    let given = batch(&users(), &[insert(), insert()]);
    let mut runtime = start("let n = 0; function onRecord(r) { r.row.note = String(++n); return r }").0;
    assert_eq!(rows(&runtime.apply(&given).expect("sound")), ["5,Ada,1", "5,Ada,2"]);
    assert_eq!(rows(&runtime.apply(&given).expect("sound")), ["5,Ada,3", "5,Ada,4"]);
}

#[test]
fn a_script_that_cannot_be_loaded_says_where() {
    for (source, line, column, message) in [
        ("\nlet x = = 1", 2, 9, "SyntaxError: unexpected token in expression: '='"),
        ("function onRecord(r) {\n", 1, 0, "SyntaxError: "),
        ("\n\nthrow new Error('no')", 3, 11, "no"),
        ("\nundeclared = 1", 2, 1, "ReferenceError: undeclared is not defined"),
        ("const t = null;\nconst x = t.y", 2, 11, "TypeError: cannot read property 'y' of null"),
    ] {
        let fault = refused(source);
        assert_eq!(fault.line, line, "{source}: {fault:?}");
        assert_eq!(fault.column, column, "{source}: {fault:?}");
        assert!(fault.message.starts_with(message), "{source}: {fault:?}");
    }
    assert!(refused(&" ".repeat(2 << 20)).message.contains("longer than"));
    assert!(refused("const a = '\0'").message.contains("zero"));
}

#[test]
fn the_log_takes_every_level_and_value() {
    let source = "console.log('loading');
        function onRecord(r) {
          console.log('a', 1, 2n, null, undefined, true, [1, 'x'], { id: r.row.id }, new tarn.Decimal('1.50'));
          console.warn(r.row); console.error(new Error('bad')); console.debug(Symbol('s'), () => 1, 0.1, -0);
          console.info(r.commitTime, 'x'.repeat(10000));
          return r;
        }";
    let (mut runtime, recorder) = start(source);
    runtime.apply(&super::one_user()).expect("sound");
    let lines = recorder.lines.borrow();
    assert_eq!(lines[0], (Level::Info, "a 1 2 null undefined true [1,\"x\"] {\"id\":5} 1.50".to_owned()));
    assert_eq!(lines[1], (Level::Warn, "{\"id\":5,\"name\":\"Ada\",\"note\":null}".to_owned()));
    assert_eq!(lines[2], (Level::Error, "Error: bad".to_owned()));
    assert_eq!(lines[3].0, Level::Debug);
    assert!(lines[4].1.starts_with("1970-01-01T00:00:01Z xxx") && lines[4].1.len() == 8 << 10);
}

#[test]
fn declared_columns_go_on_with_the_row() {
    let source = "tarn.column('public.users', 'loud', 'text');
        tarn.column('public.users', 'sum', 'numeric(12,2)');
        function onRecord(r) { r.row.loud = r.row.name.toUpperCase(); r.row.sum = 1.5; return r }";
    assert_eq!(rows(&apply(source, &super::one_user())), ["5,Ada,~,ADA,1.50"]);
    for (call, reason) in [
        ("'public.t', 'x', 'money'", "there is no type \"money\""),
        ("'public.t', 'x'", "takes the name of a table"),
        ("'public.t', 'x', 'text'); tarn.column('public.t', 'x', 'text'", "declared twice"),
    ] {
        let fault = refused(&format!("tarn.column({call}); function onRecord() {{}}"));
        assert!(fault.message.contains(reason), "{call}: {fault:?}");
    }
    assert!(
        reject("tarn.column('public.users', 'x', 'text')", insert())
            .message
            .contains("where a script begins")
    );
}
