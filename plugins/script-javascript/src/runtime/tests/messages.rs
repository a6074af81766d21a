//! What a script makes of records for a queue, and the kinds of records that are no rows.

use tarn_batch::{Batch, BatchWriter, Cell, LogMessage, Op, RowHeader, Table};

use tarn_script::fixture::{HEADER, Images, batch, insert, rows, users};

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
            assert_eq!(row.header().op, Op::Outgoing);
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
    let source = format!("function onRecord(r) {{ {body} }}");
    start_for_queue(&source).apply(&batch(&users(), &[row])).expect("the batch is sound")
}

#[test]
fn what_is_returned_becomes_messages() {
    for (body, expected) in [
        ("return 'x'", vec!["~ ~ x None [] id=5"]),
        ("return ''", vec!["~ ~  None [] id=5"]),
        ("return { value: 'x' }", vec!["~ ~ x None [] id=5"]),
        ("return { value: null }", vec!["~ ~ ~ None [] id=5"]),
        ("return new class { get value() { return 'x' } }", vec!["~ ~ x None [] id=5"]),
        ("return new Uint8Array([255])", vec!["~ ~ \\xff None [] id=5"]),
        (
            "return { topic: 't', key: 'k', value: new Uint8Array([255]), partition: 3, headers: { b: '1', a: 'é' } }",
            vec!["t k \\xff Some(3) [\"a=\\\\xc3\\\\xa9\", \"b=1\"] id=5"],
        ),
        (
            "return ['a', { value: 'b' }, null, 'c']",
            vec!["~ ~ a None [] id=5", "~ ~ b None [] id=5", "~ ~ c None [] id=5"],
        ),
        (
            "return { key: r.row.id, value: 1.5, headers: { n: 7, t: r.commitTime } }",
            vec!["~ 5 1.5 None [\"n=7\", \"t=1970-01-01T00:00:01Z\"] id=5"],
        ),
        ("return { key: new tarn.Decimal('1.50'), value: null }", vec!["~ 1.50 ~ None [] id=5"]),
        (
            "return tarn.json.encode(r.row)",
            vec![r#"~ ~ {\"id\":5,\"name\":\"Ada\",\"note\":null} None [] id=5"#],
        ),
        ("return tarn.json.encodeBytes([1])", vec!["~ ~ [1] None [] id=5"]),
        ("return r.row.name", vec!["~ ~ Ada None [] id=5"]),
    ] {
        let applied = send(body, insert());
        assert_eq!(applied.rejected, [], "{body}");
        assert_eq!(messages(&applied), expected, "{body}");
        assert_eq!(applied.rows as usize, expected.len());
    }
}

#[test]
fn nothing_for_a_queue_drops_the_record() {
    for body in ["", "return", "return null", "return []", "return [null, undefined]"] {
        let applied = send(body, insert());
        assert_eq!((applied.rows, applied.dropped, applied.rejected.len()), (0, 1, 0), "{body}");
    }
}

#[test]
fn what_is_no_message_is_rejected_and_says_what_a_queue_takes() {
    let queue = "for a queue it returns a string such as tarn.json.encode(r), an object with topic, key, value, \
                 headers, partition, an array of those, or null";
    for (body, message) in [
        ("return r.row", &*format!("onRecord returned a row: {queue}")),
        ("return r", &*format!("onRecord returned a record: {queue}")),
        ("return 5", &*format!("onRecord returned a number: {queue}")),
        ("return ['a', true]", &*format!("onRecord returned a boolean: {queue}")),
        ("return tarn.json.raw('1')", &*format!("onRecord returned an object: {queue}")),
        (
            "return { topik: 'x' }",
            "onRecord returned an object with a field \"topik\": a message has topic, key, value, headers, partition",
        ),
        (
            "return { value: {} }",
            "the value of a message is an object: it is a string or a Uint8Array: tarn.json.encode makes one of it",
        ),
        (
            "return { value: r.row }",
            "the value of a message is a row: it is a string or a Uint8Array: tarn.json.encode makes one of it",
        ),
        ("return { key: true }", "the key of a message is a boolean: it is a string or a Uint8Array"),
        ("return { topic: new Uint8Array([255]) }", "the topic of a message is not UTF-8"),
        ("return { value: '\\ud800' }", "the value of a message has half a pair of surrogates"),
        ("return { partition: -1 }", "the partition of a message is not a whole number from 0"),
        ("return { partition: 1.5 }", "the partition of a message is not a whole number from 0"),
        ("return { headers: 'x' }", "the headers of a message are a string: they are an object"),
        (
            "return { headers: { a: [] } }",
            "the header \"a\" of a message is an array: it is a string or a Uint8Array",
        ),
        ("return new Array(1001).fill('')", "onRecord returned 1001 messages: one record makes at most 1000"),
    ] {
        let applied = send(body, insert());
        // The good ones beside it are not sent either: the record is one.
        assert_eq!((applied.rows, applied.dropped), (0, 0), "{body}");
        assert_eq!(applied.rejected[0].message, message, "{body}");
        assert_eq!(applied.rejected[0].key, "id=5");
    }
}

#[test]
fn what_has_no_field_of_a_message_is_no_tombstone() {
    for body in [
        "return {}",
        "return new Map([['value', 'x']])",
        "return new Error('no')",
        "return [{}]",
        "return (function* () {})()",
    ] {
        let applied = send(body, insert());
        assert_eq!((applied.rows, applied.dropped), (0, 0), "{body}");
        let message = &applied.rejected[0].message;
        assert!(
            message.contains("onRecord returned an object without any field of a message"),
            "{body}: {message}"
        );
    }
}

#[test]
fn a_queue_gets_what_transform_functions_changed() {
    let row = batch(&users(), &[insert()]);
    let changed = "function transformRow(row) { row.name = row.name.toUpperCase() }";
    let applied = start_for_queue(changed).apply(&row).expect("sound");
    assert_eq!(rows(&applied), ["5,ADA,~"]);
    let both = format!("{changed} function onRecord(r) {{ return r.row.name }}");
    assert_eq!(messages(&start_for_queue(&both).apply(&row).expect("sound")), ["~ ~ ADA None [] id=5"]);
}

#[test]
fn a_script_of_tables_is_told_of_messages_where_it_asks() {
    let source = "let said = 'nobody';
      function onMessage(r) {
        if (r.content === 'bad') throw new Error('no');
        said = `${r.kind} ${r.prefix} ${r.content} ${r.row}`;
      }
      function onRecord(r) { r.row.name = said; return r.row; }";
    let mut writer = BatchWriter::with_capacity(0);
    writer.add_table(users());
    let nowhere =
        writer.add_table(Table { columns: vec![], schema: String::new(), name: String::new(), ..users() });
    for content in [&b"by hand"[..], b"bad"] {
        tarn_script::fixture::write_user(&mut writer, insert());
        writer.log_message(nowhere, &HEADER, &LogMessage { prefix: "audit", content });
    }
    let applied = start(source).0.apply(&writer.finish()).expect("sound");
    let batch = Batch::parse(&applied.batch).expect("sound");
    let kinds: Vec<Op> = batch.rows().map(|row| row.expect("sound").op()).collect();
    assert_eq!(kinds, [Op::Insert, Op::Message, Op::Insert]);
    let names: Vec<String> = batch
        .rows()
        .map(|row| row.expect("sound"))
        .filter(|row| row.op() == Op::Insert)
        .map(|row| format!("{:?}", row.cell(1).expect("sound")))
        .collect();
    assert_eq!(names[1], format!("{:?}", Cell::Value(b"message audit by hand null")));
    assert_ne!(names[0], names[1]);
    assert_eq!(applied.rejected.iter().map(|rejection| rejection.row).collect::<Vec<_>>(), [3]);
}

#[test]
fn messages_of_the_log_and_relations_are_records_too() {
    let mut writer = BatchWriter::with_capacity(0);
    let index = writer.add_table(users());
    writer.begin_row(index, &RowHeader { op: Op::Relation, ..HEADER });
    writer.end_row();
    let nowhere =
        writer.add_table(Table { columns: vec![], schema: String::new(), name: String::new(), ..users() });
    for content in [&b"{\"a\":1}"[..], b"\xff"] {
        writer.log_message(
            nowhere,
            &RowHeader { op: Op::Message, ..HEADER },
            &LogMessage { prefix: "outbox", content },
        );
    }
    let source = "function onRecord(r) {
        if (r.kind === 'relation') return `${r.kind} ${r.source} ${r.row}`;
        const content = typeof r.content === 'string' ? tarn.json.decode(r.content).a : r.content[0];
        return { topic: r.prefix, value: content, headers: { source: `<${r.source}>` } };
      }";
    let applied = start_for_queue(source).apply(&writer.finish()).expect("sound");
    assert_eq!(
        messages(&applied),
        [
            "~ ~ relation public.users null None [] id=?",
            "outbox ~ 1 None [\"source=<>\"] ~",
            "outbox ~ 255 None [\"source=<>\"] ~"
        ]
    );
}
