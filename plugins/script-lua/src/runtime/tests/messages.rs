//! What a script makes of records for a queue, and the kinds of records that are no rows.

use tarn_batch::{Batch, BatchWriter, Before, Cell, LogMessage, Op, RowHeader, Table};

use tarn_script::fixture::{HEADER, ID, Images, batch, insert, rows, users};

use super::{start, start_for_queue};
use crate::Applied;

/// The messages of a batch as text: topic, key, value, partition, headers, record key.
fn messages(applied: &Applied) -> Vec<String> {
    let batch = Batch::parse(&applied.batch).expect("the batch is sound");
    batch.verify().expect("the batch is sound");
    let say = |bytes: Option<&[u8]>| bytes.map_or("~".to_owned(), |bytes| bytes.escape_ascii().to_string());
    batch
        .rows()
        .map(|row| row.expect("the row is sound"))
        .map(|row| {
            assert_eq!(row.header(), RowHeader { op: Op::Outgoing, ..HEADER });
            let message = row.outgoing().expect("the message is sound").expect("it is one");
            let headers = message.headers.map(|header| {
                let (name, value) = header.expect("the header is sound");
                format!("{name}={}", say(value))
            });
            format!(
                "{} {} {} {:?} {:?} {}",
                message.topic.unwrap_or("~"),
                say(message.key),
                say(message.value),
                message.partition,
                headers.collect::<Vec<_>>(),
                message.record_key.unwrap_or("~")
            )
        })
        .collect()
}

fn send(body: &str, row: Images<'_>) -> Applied {
    let source = format!("local json = require 'json' function onRecord(r) {body} end");
    start_for_queue(&source).apply(&batch(&users(), &[row])).expect("the batch is sound")
}

#[test]
fn what_is_returned_becomes_messages() {
    for (body, expected) in [
        ("return 'x'", vec!["~ ~ x None [] id=5"]),
        ("return ''", vec!["~ ~  None [] id=5"]),
        ("return {value = 'x'}", vec!["~ ~ x None [] id=5"]),
        ("return {headers = {}}", vec!["~ ~ ~ None [] id=5"]),
        (
            "return {topic = 't', key = 'k', value = '\\255', partition = 3, headers = {b = '1', a = 'é'}}",
            vec!["t k \\xff Some(3) [\"a=\\\\xc3\\\\xa9\", \"b=1\"] id=5"],
        ),
        (
            "return 'a', {value = 'b'}, nil, 'c'",
            vec!["~ ~ a None [] id=5", "~ ~ b None [] id=5", "~ ~ c None [] id=5"],
        ),
        ("return {key = r.row.id, value = 1.5, headers = {n = 7}}", vec!["~ 5 1.5 None [\"n=7\"] id=5"]),
        ("return json.encode(r.row)", vec![r#"~ ~ {\"id\":5,\"name\":\"Ada\",\"note\":null} None [] id=5"#]),
        ("return r.row and r.row.name", vec!["~ ~ Ada None [] id=5"]),
    ] {
        let applied = send(body, insert());
        assert_eq!(applied.rejected, [], "{body}");
        assert_eq!(messages(&applied), expected, "{body}");
        assert_eq!(applied.rows as usize, expected.len());
    }
}

#[test]
fn nothing_for_a_queue_drops_the_record() {
    for body in ["", "return", "return nil", "return nil, nil"] {
        let applied = send(body, insert());
        assert_eq!((applied.rows, applied.dropped, applied.rejected.len()), (0, 1, 0), "{body}");
    }
}

#[test]
fn what_is_no_message_is_rejected_and_says_what_a_queue_takes() {
    let queue = "for a queue it returns a string such as json.encode(r), a table with topic, key, value, headers, \
                 partition, or nil";
    for (body, message) in [
        ("return r.row", &*format!("onRecord returned a row: {queue}")),
        ("return r", &*format!("onRecord returned a record: {queue}")),
        ("return 5", &*format!("onRecord returned a number: {queue}")),
        ("return 'a', true", &*format!("onRecord returned a boolean: {queue}")),
        (
            "return {topik = 'x'}",
            "onRecord returned a table with a field \"topik\": a message has topic, key, value, headers, partition",
        ),
        (
            "return {'x'}",
            "onRecord returned a table with a number as a key: a message has topic, key, value, headers, partition",
        ),
        (
            "return {}",
            "onRecord returned a table without any field of a message, which has topic, key, value, headers, partition: \
             nil drops a record, and a table with a key alone is a tombstone",
        ),
        ("return {value = {}}", "the value of a message is a table value: it is a string"),
        ("return {key = true}", "the key of a message is a boolean value: it is a string"),
        ("return {topic = '\\255'}", "the topic of a message is not UTF-8"),
        ("return {partition = -1}", "the partition of a message is not a whole number from 0"),
        ("return {partition = 1.5}", "the partition of a message is not a whole number from 0"),
        ("return {headers = 'x'}", "the headers of a message are a string value: they are a table"),
        ("return {headers = {a = {}}}", "the header \"a\" of a message is a table value: it is a string"),
        ("return {headers = {'x'}}", "a header of a message has a name that is no text"),
        (
            "local t = {} for i = 1, 1001 do t[i] = '' end return unpack(t)",
            "onRecord returned 1001 messages: one record makes at most 1000",
        ),
    ] {
        let applied = send(body, insert());
        // The good ones beside it are not sent either: the record is one.
        assert_eq!((applied.rows, applied.dropped), (0, 0), "{body}");
        assert_eq!(applied.rejected[0].message, message, "{body}");
        assert_eq!(applied.rejected[0].key, "id=5");
    }
}

#[test]
fn a_queue_gets_what_transform_functions_changed() {
    let row = batch(&users(), &[insert()]);
    let changed = "function transformRow(row) row.name = row.name:upper() end";
    let applied = start_for_queue(changed).apply(&row).expect("sound");
    assert_eq!(rows(&applied), ["5,ADA,~"]);
    let both = format!("{changed} function onRecord(r) return r.row.name end");
    assert_eq!(messages(&start_for_queue(&both).apply(&row).expect("sound")), ["~ ~ ADA None [] id=5"]);
    // For a table, what onRecord of such a script would send is not asked for.
    assert_eq!(rows(&start(&both).0.apply(&row).expect("sound")), ["5,ADA,~"]);
}

/// A message in the log and changed columns, between two rows.
fn mixed() -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(0);
    let table = writer.add_table(users());
    let nowhere = writer.add_table(Table {
        id: 0,
        schema: String::new(),
        name: String::new(),
        version: 0,
        columns: Vec::new(),
    });
    tarn_script::fixture::write_user(&mut writer, insert());
    let message = LogMessage { prefix: "audit", content: b"by hand" };
    writer.log_message(nowhere, &HEADER, &message);
    writer.begin_row(table, &RowHeader { op: Op::Relation, ..HEADER });
    writer.end_row();
    writer.finish()
}

#[test]
fn messages_in_the_log_and_changed_columns_are_records() {
    let source = "function onRecord(r)
        local rows = tostring(r.row) .. tostring(r.new) .. tostring(r.old) .. tostring(r.unchanged_columns)
        return table.concat({r.kind, r.source, r.target, tostring(r.prefix), tostring(r.content), rows}, ' ')
    end";
    let applied = start_for_queue(source).apply(&mixed()).expect("sound");
    assert_eq!(applied.rejected, []);
    assert_eq!(
        messages(&applied),
        [
            "~ ~ insert public.users people nil nil row of public.usersrow of public.usersnilnil None [] id=5",
            "~ ~ message   audit by hand nilnilnilnil None [] ~",
            "~ ~ relation public.users people nil nil nilnilnilnil None [] id=?",
        ]
    );
}

#[test]
fn what_is_no_row_passes_by_the_scripts_of_tables() {
    for source in [
        "function onRecord(r) if r.kind ~= 'insert' then error('called') end return r end",
        "function transformRecord(r) if r.kind ~= 'insert' then error('called') end end",
    ] {
        let applied = start(source).0.apply(&mixed()).expect("sound");
        assert_eq!((applied.rows, applied.dropped, applied.rejected.len()), (3, 0, 0));
        assert_eq!(applied.batch, mixed());
    }
}

#[test]
fn a_script_of_tables_is_told_of_messages_where_it_asks() {
    let source = "local said
        function onMessage(r)
            if r.content == 'bad' then error('no') end
            said = table.concat({r.kind, r.prefix, r.content, r.source, tostring(r.row)}, ' ')
            return 'ignored'
        end
        function onRecord(r) r.row.name = said or 'nobody' return r.row end";
    let mut writer = BatchWriter::with_capacity(0);
    let table = writer.add_table(users());
    let nowhere =
        writer.add_table(Table { columns: vec![], schema: String::new(), name: String::new(), ..users() });
    tarn_script::fixture::write_user(&mut writer, insert());
    writer.log_message(nowhere, &HEADER, &LogMessage { prefix: "audit", content: b"by hand" });
    tarn_script::fixture::write_user(&mut writer, insert());
    writer.log_message(nowhere, &HEADER, &LogMessage { prefix: "audit", content: b"bad" });
    writer.begin_row(table, &RowHeader { op: Op::Relation, ..HEADER });
    writer.end_row();
    let applied = start(source).0.apply(&writer.finish()).expect("sound");
    let batch = Batch::parse(&applied.batch).expect("sound");
    let mut seen: Vec<String> = Vec::new();
    for row in batch.rows() {
        let row = row.expect("sound");
        seen.push(match row.op() {
            Op::Insert => match row.cell(1).expect("sound") {
                Cell::Value(name) => name.escape_ascii().to_string(),
                other => format!("{other:?}"),
            },
            op => op.name().to_owned(),
        });
    }
    assert_eq!(seen, ["nobody", "message", "message audit by hand  nil", "relation"]);
    let rejected: Vec<(u32, &str)> =
        applied.rejected.iter().map(|rejection| (rejection.row, rejection.message.as_str())).collect();
    assert_eq!(rejected, [(3, "no")]);
}

#[test]
fn transform_row_sees_both_rows_of_a_change() {
    let update = (
        Op::Update,
        Some([Cell::Value(&ID), Cell::Value(b"Eva"), Cell::Unchanged]),
        Some((Before::Full, [Cell::Value(&ID), Cell::Value(b"Ada"), Cell::Null])),
    );
    let delete =
        (Op::Delete, None, Some((Before::Key, [Cell::Value(&ID), Cell::Unchanged, Cell::Unchanged])));
    let source =
        "function transformRow(row) row.id = row.id + 1 row.name = row.name and row.name:upper() end";
    let applied = start(source).0.apply(&batch(&users(), &[update, delete, insert()])).expect("sound");
    // The key before and after the change stay comparable.
    assert_eq!(rows(&applied), ["6,EVA,?<6,ADA,~", "<6,?,?", "6,ADA,~"]);
}

#[test]
fn records_are_encoded_in_one_order() {
    let update = (
        Op::Update,
        Some([Cell::Value(&ID), Cell::Value(b"Eva"), Cell::Unchanged]),
        Some((Before::Key, [Cell::Value(&ID), Cell::Unchanged, Cell::Unchanged])),
    );
    let encode = |row| {
        let applied = send("return json.encode(r)", row);
        let batch = Batch::parse(&applied.batch).expect("sound");
        let row = batch.rows().next().expect("one").expect("sound");
        let value = row.outgoing().expect("sound").expect("a message").value.unwrap_or_default();
        String::from_utf8(value.to_vec()).expect("text")
    };
    let source = r#""checkpoint":4660,"commit_time":"1970-01-01T00:00:01Z","transaction_id":77,"source":"public.users""#;
    assert_eq!(
        encode(insert()),
        format!(r#"{{"kind":"insert","new":{{"id":5,"name":"Ada","note":null}},{source}}}"#)
    );
    assert_eq!(
        encode(update),
        format!(
            r#"{{"kind":"update","old":{{"id":5}},"new":{{"id":5,"name":"Eva"}},{source},"unchanged_columns":["note"]}}"#
        )
    );
    let applied = start_for_queue("function onRecord(r) return require('json').encode(r) end")
        .apply(&mixed())
        .expect("sound");
    let batch = Batch::parse(&applied.batch).expect("sound");
    let values: Vec<_> = batch.rows().map(|row| row.expect("sound").outgoing().expect("sound")).collect();
    assert_eq!(
        values[1].expect("a message").value.map(|value| value.escape_ascii().to_string().replace("\\\"", "\"")),
        Some(
            r#"{"kind":"message","checkpoint":4660,"commit_time":"1970-01-01T00:00:01Z","transaction_id":77,"source":"","prefix":"audit","content":"by hand"}"#
                .to_owned()
        )
    );
    let packed = send("return (require('msgpack').encode(r):sub(1, 13):gsub('%c', '?'))", insert());
    assert_eq!(messages(&packed), ["~ ~ \\x86\\xa4kind\\xa6insert None [] id=5"]);
}
