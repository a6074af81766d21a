use tarn_script::fixture::{batch, insert, rows, users};

use super::{accept, apply, refused, reject, start};
use crate::Fault;

#[test]
fn sources_of_lua_5_1_are_read() {
    let source = "\u{feff}#!/usr/bin/lua\nfunction onRecord(r) r.row.name = (\"a.b/c\"):gsub(\"[^\\.]+\", '\\/', 1) return r end";
    assert_eq!(rows(&apply(source, &batch(&users(), &[insert()]))), ["5,/.b/c,~"]);
}

#[test]
fn what_is_raised_that_is_no_text_says_what_is_in_it() {
    for (raised, message) in [
        ("{code = 1}", "{\"code\":1}"),
        ("{code = 1, message = 'no'}", "no (code 1)"),
        ("setmetatable({}, {__tostring = function() return 'own' end})", "own"),
        ("print", "a function value was raised"),
        ("{[print] = 1}", "a table was raised"),
    ] {
        let rejection = reject(&format!("error({raised})"), insert());
        assert_eq!((&*rejection.message, rejection.line), (message, 2), "{raised}");
    }
}

#[test]
fn an_untouched_row_goes_on_byte_for_byte() {
    let given = batch(&users(), &[insert(), insert()]);
    for body in ["return r", "return r.row", "return r.new", "local _ = r.row.name return r.row"] {
        let applied = apply(&format!("function onRecord(r) {body} end"), &given);
        assert_eq!(applied.batch, given, "{body}");
        assert_eq!((applied.rows, applied.dropped), (2, 0));
    }
}

#[test]
fn nothing_and_nil_drop_the_row() {
    for body in ["", "return", "return nil", "return nil, nil", "local x = r.row"] {
        let applied = accept(body, insert());
        assert_eq!((applied.rows, applied.dropped), (0, 1), "{body}");
        assert_eq!(rows(&applied), [""; 0]);
    }
}

#[test]
fn what_is_no_row_is_rejected_and_says_what_a_table_takes() {
    for (body, kind) in [
        ("return 'x'", "string"),
        ("return 5", "number"),
        ("return {}", "table"),
        ("return false", "boolean"),
    ] {
        let rejection = reject(body, insert());
        assert_eq!(
            rejection.message,
            format!(
                "onRecord returned a {kind}: for a table destination it returns r.row, r or nil; messages are for queues"
            )
        );
    }
    assert!(reject("return r.row, 'x'", insert()).message.contains("several values"));
}

#[test]
fn transform_functions_change_rows_in_place() {
    let given = batch(&users(), &[insert()]);
    let applied = apply("function transformRecord(r) r.row.name = r.kind return nil end", &given);
    assert_eq!(rows(&applied), ["5,insert,~"]);
    let applied = apply("function transformRow(row) row.note = row.name .. '!' return false end", &given);
    assert_eq!(rows(&applied), ["5,Ada,Ada!"]);
    let both = "transformRow = function(row) row.name = 'snapshot' end
                transformRecord = function(r) r.row.name = 'stream' end";
    assert_eq!(rows(&apply(both, &given)), ["5,stream,~"]);
}

#[test]
fn entry_points_are_found_and_named() {
    let named = |source| start(source).0.entry_points();
    assert_eq!(named("function onRecord(r) end transformRow = print"), ["onRecord", "transformRow"]);
    assert_eq!(named("transformRow = print transformRecord = print"), ["transformRecord", "transformRow"]);
    assert_eq!(named("transformRow = print"), ["transformRow"]);
    let fault = refused("local x = 1");
    assert!(fault.message.starts_with("the script defines no entry point"), "{fault:?}");
}

#[test]
fn a_script_that_cannot_be_loaded_says_where() {
    let fault = |line, message: &str| Fault { line, message: message.to_owned() };
    assert_eq!(refused("\nlocal x = = 1"), fault(2, "unexpected symbol near '='"));
    assert_eq!(
        refused("function onRecord(r)\n"),
        fault(2, "'end' expected (to close 'function' at line 1) near <eof>")
    );
    assert_eq!(refused("\n\nerror('no')"), fault(3, "no"));
    assert_eq!(refused("\nerror({})").line, 2);
    assert_eq!(refused("local t = nil\nlocal x = t.y"), fault(2, "attempt to index a nil value (local 't')"));
    assert!(refused(&" ".repeat(2 << 20)).message.contains("longer than"));
    assert!(refused("\u{1b}Lua").message.contains("binary chunk"));
}

#[test]
fn what_a_script_keeps_between_records_is_kept() {
    let given = batch(&users(), &[insert(), insert(), insert()]);
    let counting = "local n = 0 function onRecord(r) n = n + 1 r.row.note = tostring(n) return r end";
    let mut runtime = start(counting).0;
    assert_eq!(rows(&runtime.apply(&given).expect("sound")), ["5,Ada,1", "5,Ada,2", "5,Ada,3"]);
    assert_eq!(rows(&runtime.apply(&given).expect("sound")), ["5,Ada,4", "5,Ada,5", "5,Ada,6"]);
}

#[test]
fn a_row_kept_from_an_earlier_record_is_refused_not_confused() {
    let given = batch(&users(), &[insert(), insert()]);
    let returned = "local kept function onRecord(r) local before = kept kept = r.row
                    if before then return before end return r end";
    let applied = apply(returned, &given);
    assert_eq!((applied.rows, applied.rejected.len()), (1, 1));
    assert!(applied.rejected[0].message.contains("earlier record"));
    let read = "local kept function onRecord(r) kept = kept or r.row\nreturn kept.name and r end";
    let applied = apply(read, &given);
    assert_eq!((applied.rows, applied.rejected[0].line), (1, 2));
    assert!(applied.rejected[0].message.starts_with("this row belongs to an earlier record"));
}

#[test]
fn print_writes_to_the_log_and_the_clock_is_the_hosts() {
    let printing = "print('unheard') function onRecord(r) print(r.row.id, 'a', nil, 1.5) return r end";
    let (mut runtime, recorder) = start(printing);
    runtime.apply(&batch(&users(), &[insert()])).expect("sound");
    assert_eq!(*recorder.lines.borrow(), ["5\ta\tnil\t1.5"]);
    let applied = accept("r.row.name = os.time() r.row.note = peerdb.Now() return r", insert());
    assert_eq!(rows(&applied), ["5,5400,1970-01-01 01:30:00+00"]);
}

#[test]
fn a_failing_record_does_not_harm_the_next() {
    let given = batch(&users(), &[insert(), insert(), insert()]);
    let failing = "local n = 0 function onRecord(r) n = n + 1 r.row.name = 'changed'
                   if n == 2 then error('boom') end return r end";
    let applied = apply(failing, &given);
    assert_eq!(rows(&applied), ["5,changed,~", "5,changed,~"]);
    let [rejection] = &applied.rejected[..] else { panic!("one is rejected") };
    assert_eq!((rejection.row, rejection.line, &*rejection.message), (1, 2, "boom"));
    assert_eq!((&*rejection.table, &*rejection.key), ("public.users", "id=5"));
}

#[test]
fn limits_reached_in_a_record_reject_it_alone() {
    let given = batch(&users(), &[insert(), insert(), insert(), insert()]);
    let applied = apply(
        "local n = 0
         local function deep() return deep() + 1 end
         function onRecord(r)
           n = n + 1
           if n == 1 then local t = {} for i = 1, 1e9 do t[i] = {} end end
           if n == 2 then deep() end
           if n == 3 then local ok, e = pcall(deep) r.row.note = tostring(ok) end
           return r
         end",
        &given,
    );
    assert_eq!(rows(&applied), ["5,Ada,false", "5,Ada,~"]);
    assert_eq!(applied.rejected[0].message, "not enough memory");
    assert!(applied.rejected[1].message.contains("stack overflow"), "{:?}", applied.rejected[1]);
}

#[test]
fn what_a_failed_record_took_is_free_for_the_next() {
    let given = batch(&users(), &[insert(), insert(), insert()]);
    // The table lies where the next call has no variable yet when it first asks for memory.
    let filling = "local n = 0 function onRecord(r)
                     local id = r.row.id
                     if n == 0 then n = 1 local t = {} for i = 1, 1e9 do t[i] = {} end end
                     return r
                   end";
    let applied = apply(filling, &given);
    assert_eq!(applied.rejected.len(), 1, "{:?}", applied.rejected);
    assert_eq!(rows(&applied), ["5,Ada,~", "5,Ada,~"]);
}
