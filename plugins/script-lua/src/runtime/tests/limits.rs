//! Sizes that a script reaches are errors of its record, and the next record finds room again.

use tarn_script::fixture::{batch, insert, rows, users};

use super::{apply, start_for_queue};

/// What becomes of three records of which the first does too much.
fn after_too_much(body: &str) -> (Vec<String>, Vec<String>) {
    let source = format!(
        "local json, msgpack = require 'json', require 'msgpack'
         local n = 0
         function onRecord(r) n = n + 1 if n == 1 then {body} end return r end"
    );
    let applied = apply(&source, &batch(&users(), &[insert(), insert(), insert()]));
    let messages = applied.rejected.iter().map(|rejection| rejection.message.clone()).collect();
    (rows(&applied), messages)
}

#[test]
fn what_is_too_large_is_refused_with_its_record() {
    for (body, message) in [
        ("json.encode(('x'):rep(20000000))", "the value has more than 16777216 bytes as JSON"),
        (
            "local s, t = ('x'):rep(1000000), {} for i = 1, 100 do t[i] = s end json.encode(t)",
            "the value has more than 16777216 bytes as JSON",
        ),
        ("json.encode(json.bin(('x'):rep(20000000)))", "the value has more than 16777216 bytes as JSON"),
        (
            "local s, t = ('x'):rep(1000000), {} for i = 1, 100 do t[i] = s end msgpack.encode(t)",
            "the value is too long for MessagePack",
        ),
        (
            "r.row.name = ('x'):rep(40000000) r.row.note = ('y'):rep(40000000) r.row.name = 'z'",
            "column name (text) of public.users takes no more: a script assigns at most 67108864 bytes in a record",
        ),
    ] {
        let (rows, messages) = after_too_much(body);
        assert_eq!(rows, ["5,Ada,~", "5,Ada,~"], "{body}");
        assert_eq!(messages, [message], "{body}");
    }
}

#[test]
fn values_that_were_assigned_over_take_no_room() {
    let body = "local s = ('x'):rep(1000000) for i = 1, 500 do r.row.name = s .. i end r.row.name = 'last'";
    let (rows, messages) = after_too_much(body);
    assert_eq!(
        (rows, messages),
        (vec!["5,last,~".to_owned(), "5,Ada,~".to_owned(), "5,Ada,~".to_owned()], vec![])
    );
}

#[test]
fn a_batch_does_not_grow_without_bounds() {
    let many = batch(&users(), &[insert(); 20]);
    let source = "local s = ('x'):rep(10000000) function onRecord(r) return s end";
    let applied = start_for_queue(source).apply(&many).expect("sound");
    assert_eq!((applied.rows, applied.rejected.len()), (6, 14));
    let message = "the script makes more than 67108864 bytes of the batch that the record is in";
    assert_eq!(applied.rejected[0].message, message);
    let source = "local s = ('x'):rep(10000000) function onRecord(r) r.row.name = s return r end";
    let applied = apply(source, &many);
    assert_eq!((applied.rows, applied.rejected.len()), (6, 14));
}
