//! Scripts as they are written for this family of servers, and their output to the byte.

use tarn_batch::{Batch, BatchWriter, Before, Op, RowHeader, Table, Type};

use tarn_script::fixture::{HEADER, array, column, table};

use super::start_for_queue;

/// `staff`: the columns that such scripts meet.
fn staff() -> Table {
    let numeric = Type::Numeric { precision: 12, scale: 2 };
    table(vec![
        column("id", Type::Int8, "bigint", 1),
        column("name", Type::Text, "text", 0),
        column("ssn", Type::Text, "text", 0),
        column("salary", numeric, "numeric(12,2)", 0),
        column("doc", Type::Json, "jsonb", 0),
        column("badge", Type::Bytes, "bytea", 0),
        column("hired", Type::TimestampTz, "timestamptz", 0),
        column("token", Type::Uuid, "uuid", 0),
        column("share", Type::Float4, "real", 0),
        column("tags", Type::Text.array(), "text[]", 0),
        column("active", Type::Bool, "boolean", 0),
    ])
}

fn write(writer: &mut BatchWriter, id: i64, name: &str) {
    writer.value(&id.to_le_bytes());
    writer.value(name.as_bytes());
    writer.value(b"078-05-1120");
    writer.value(b"90000.50");
    writer.value(br#"{"team": "core", "level": 9007199254740993, "since": 1.50}"#);
    writer.value(&[0, 255, 16]);
    writer.value(&1_709_210_096_789_000_i64.to_le_bytes());
    writer.value(&(0..16).collect::<Vec<u8>>());
    writer.value(&0.1_f32.to_le_bytes());
    writer.value(&array(&[2], &[Some(b"a"), None]));
    writer.value(&[1]);
}

/// An insert, an update and a delete of `staff`, in this order.
fn changes() -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(0);
    let table = writer.add_table(staff());
    writer.begin_row(table, &HEADER);
    write(&mut writer, 342_161_316_540_874_753, "Ada");
    writer.end_row();
    writer.begin_row(table, &RowHeader { op: Op::Update, ..HEADER });
    write(&mut writer, 2, "Eva");
    writer.begin_before(Before::Full);
    write(&mut writer, 2, "Ada");
    writer.end_row();
    writer.begin_row(table, &RowHeader { op: Op::Delete, ..HEADER });
    writer.begin_before(Before::Key);
    writer.value(&3_i64.to_le_bytes());
    for _ in 1..staff().columns.len() {
        writer.unchanged();
    }
    writer.end_row();
    writer.finish()
}

/// The messages that a script makes of the changes: topic, and value as it is.
fn sent(source: &str) -> Vec<(String, Vec<u8>)> {
    let applied = start_for_queue(source).apply(&changes()).expect("sound");
    assert_eq!(applied.rejected, [], "{source}");
    let batch = Batch::parse(&applied.batch).expect("sound");
    let messages = batch.rows().map(|row| {
        let message = row.expect("sound").outgoing().expect("sound").expect("a message");
        (message.topic.unwrap_or("-").to_owned(), message.value.unwrap_or_default().to_vec())
    });
    messages.collect()
}

fn texts(source: &str) -> Vec<String> {
    let text =
        |(topic, value): (String, Vec<u8>)| format!("{topic} {}", String::from_utf8(value).expect("text"));
    sent(source).into_iter().map(text).collect()
}

#[test]
fn routing_by_a_column() {
    let source = r#"
        local bit32 = require "bit32"
        local json = require "json"
        local ops = { insert = "c", update = "u", delete = "d" }
        function onRecord(record)
          local op = ops[record.kind]
          if not op then return end
          local topic = "even"
          if bit32.btest(record.row.id, 1) then topic = "odd" end
          return {
            topic = topic,
            value = json.encode { op = op, id = record.row.id, lsn = record.checkpoint,
                                  commitms = record.commit_time.unix_milli, table = record.source },
          }
        end"#;
    assert_eq!(
        texts(source),
        [
            r#"odd {"commitms":1000,"id":342161316540874753,"lsn":4660,"op":"c","table":"public.users"}"#,
            r#"even {"commitms":1000,"id":2,"lsn":4660,"op":"u","table":"public.users"}"#,
            r#"odd {"commitms":1000,"id":3,"lsn":4660,"op":"d","table":"public.users"}"#,
        ]
    );
}

#[test]
fn masking_and_bytes() {
    let source = r#"
        local json = require 'json'
        local function mask(ssn)
          if not ssn then return nil end
          return string.gsub(ssn, "^(.-)(%d%d%d%d)$", "XXX-XX-%2")
        end
        local function to_map(row)
          local map = peerdb.RowTable(row)
          for col, val in pairs(map) do
            local kind = peerdb.RowColumnKind(row, col)
            if col == 'ssn' then
              map[col] = mask(val)
            elseif kind == 'bytes' or kind == 'bit' then
              map[col] = json.bin(val)
            end
          end
          return map
        end
        local actions = { insert = string.byte('i', 1), update = string.byte('u', 1), delete = string.byte('d', 1) }
        function onRecord(r)
          local action = actions[r.kind]
          if not action then return end
          local record = { action = action, lsn = r.checkpoint, time = r.commit_time, source = r.source }
          if r.old then record.old = to_map(r.old) end
          if r.new then record.new = to_map(r.new) end
          return json.encode(record)
        end"#;
    let row = |id, name| {
        format!(
            r#"{{"id":{id},"name":"{name}","ssn":"XXX-XX-1120","salary":"90000.50","doc":"{{\"team\": \"core\", \"level\": 9007199254740993, \"since\": 1.50}}","badge":"AP8Q","hired":"2024-02-29T12:34:56.789Z","token":"00010203-0405-0607-0809-0a0b0c0d0e0f","share":0.10000000149011612,"tags":["a",null],"active":true}}"#
        )
    };
    let rest = r#""source":"public.users","time":"1970-01-01T00:00:01Z"}"#;
    assert_eq!(
        texts(source),
        [
            format!(r#"- {{"action":105,"lsn":4660,"new":{},{rest}"#, row("342161316540874753", "Ada")),
            format!(
                r#"- {{"action":117,"lsn":4660,"new":{},"old":{},{rest}"#,
                row("2", "Eva"),
                row("2", "Ada")
            ),
            format!(r#"- {{"action":100,"lsn":4660,"old":{{"id":3}},{rest}"#),
        ]
    );
}

#[test]
fn debezium_shaped_envelopes() {
    let source = r#"
        local json = require "json"
        local ops = { insert = "c", update = "u", delete = "d" }
        function onRecord(record)
          local op = ops[record.kind]
          if not op then return end
          return json.encode {
            op = op,
            ts_ms = peerdb.Now().unix_milli,
            before = json.encode(record.old and { id = record.old.id }),
            after = record.new,
            source = { version = "1", ts_ms = record.commit_time.unix_milli, table = record.source,
                       lsn = record.checkpoint, txId = record.transaction_id },
          }
        end"#;
    let after = |id, name| {
        format!(
            r#"{{"id":{id},"name":"{name}","ssn":"078-05-1120","salary":"90000.50","doc":"{{\"team\": \"core\", \"level\": 9007199254740993, \"since\": 1.50}}","badge":"AP8Q","hired":"2024-02-29 12:34:56.789+0000","token":"00010203-0405-0607-0809-0a0b0c0d0e0f","share":0.1,"tags":["a",null],"active":true}}"#
        )
    };
    let source_part = r#""source":{"lsn":4660,"table":"public.users","ts_ms":1000,"txId":77,"version":"1"},"ts_ms":5400000}"#;
    assert_eq!(
        texts(source),
        [
            format!(
                r#"- {{"after":{},"before":"null","op":"c",{source_part}"#,
                after("342161316540874753", "Ada")
            ),
            format!(r#"- {{"after":{},"before":"{{\"id\":2}}","op":"u",{source_part}"#, after("2", "Eva")),
            format!(r#"- {{"before":"{{\"id\":3}}","op":"d",{source_part}"#),
        ]
    );
}

#[test]
fn flattening_documents() {
    let source = r#"
        local json = require "json"
        local function flatten(row)
          if not row then return end
          local map, found = peerdb.RowTable(row), {}
          for col, val in pairs(map) do
            if peerdb.RowColumnKind(row, col) == 'json' then
              local inner = json.unmark(json.decode(val, true))
              if type(inner) == "table" then
                for name, value in pairs(inner) do found[name] = value end
                map[col] = nil
              else
                map[col] = inner
              end
            end
          end
          for name, value in pairs(found) do map[name] = value end
          for _, name in ipairs { "badge", "hired", "token", "tags", "share" } do map[name] = nil end
          return map
        end
        function onRecord(record)
          return json.encode { before = flatten(record.old), after = flatten(record.new) }
        end"#;
    let row = |id, name| {
        format!(
            r#"{{"id":{id},"name":"{name}","ssn":"078-05-1120","salary":"90000.50","active":true,"level":9007199254740993,"since":1.50,"team":"core"}}"#
        )
    };
    assert_eq!(
        texts(source),
        [
            format!(r#"- {{"after":{}}}"#, row("342161316540874753", "Ada")),
            format!(r#"- {{"after":{},"before":{}}}"#, row("2", "Eva"), row("2", "Ada")),
            r#"- {"before":{"id":3}}"#.to_owned(),
        ]
    );
}

#[test]
fn computed_columns() {
    let source = r#"
        local json = require "json"
        local function computed(row)
          if not row then return end
          local map = peerdb.RowTable(row)
          local salary = map.salary
          return { id = map.id, in_cad = salary and salary * 1.4, half = salary and (salary / 2).float64,
                   count = map.name and #map.name / 3, year = map.hired and map.hired.year }
        end
        function onRecord(record)
          return json.encode(computed(record.new) or computed(record.old))
        end"#;
    assert_eq!(
        texts(source),
        [
            r#"- {"count":1,"half":45000.25,"id":342161316540874753,"in_cad":"126000.700","year":2024}"#,
            r#"- {"count":1,"half":45000.25,"id":2,"in_cad":"126000.700","year":2024}"#,
            r#"- {"id":3}"#,
        ]
    );
}

#[test]
fn msgpack_with_extension_types() {
    let source = r#"
        local msgpack = require 'msgpack'
        local function to_map(row)
          local map = peerdb.RowTable(row)
          for col, val in pairs(map) do
            local kind = peerdb.RowColumnKind(row, col)
            if kind == 'numeric' then
              map[col] = msgpack.ext(10, msgpack.encode(val.exponent) .. val.coefficient.bytes)
            elseif kind == 'bytes' or kind == 'bit' then
              map[col] = msgpack.bin(val)
            end
          end
          return map
        end
        function onRecord(r)
          if r.kind ~= 'insert' then return end
          return msgpack.encode { lsn = r.checkpoint, time = r.commit_time, new = to_map(r.new) }
        end"#;
    let [(_, value)] = &sent(source)[..] else { panic!("one message") };
    let mut expected = vec![0x83];
    let mut put = |bytes: &[u8]| expected.extend_from_slice(bytes);
    put(b"\xa3lsn\xd1\x12\x34");
    put(b"\xa3new\x8b");
    put(b"\xa2id\xd3");
    put(&342_161_316_540_874_753_i64.to_be_bytes());
    put(b"\xa4name\xa3Ada");
    put(b"\xa3ssn\xab078-05-1120");
    // The exponent -2, then 9000050 in three bytes.
    put(b"\xa6salary\xd6\x0a\xfe\x89\x54\x72");
    put(b"\xa3doc\xd9\x3a{\"team\": \"core\", \"level\": 9007199254740993, \"since\": 1.50}");
    put(b"\xa5badge\xc4\x03\x00\xff\x10");
    put(b"\xa5hired\xd7\xff");
    put(&(789_000_000_u64 << 34 | 1_709_210_096).to_be_bytes());
    put(b"\xa5token\xc4\x10\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f");
    put(b"\xa5share\xca\x3d\xcc\xcc\xcd");
    put(b"\xa4tags\x92\xa1a\xc0");
    put(b"\xa6active\xc3");
    put(b"\xa4time\xd6\xff\x00\x00\x00\x01");
    assert_eq!(value.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn rows_as_they_are() {
    let source = "function onRecord(r) return require('msgpack').encode(r.row) end";
    let value = &sent(source)[0].1;
    assert!(value.starts_with(b"\x8b\xa2id\xd3\x04\xbf\x99\xe7\x90\x4c\x80\x01\xa4name\xa3Ada"));
}
