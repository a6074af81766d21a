use proptest::prelude::*;

use super::*;

fn tuple(data: &[Option<&str>]) -> Vec<u8> {
    let mut bytes = (data.len() as u16).to_be_bytes().to_vec();
    for datum in data {
        match datum {
            None => bytes.push(b'n'),
            Some("<unchanged>") => bytes.push(b'u'),
            Some(text) => {
                bytes.push(b't');
                bytes.extend((text.len() as u32).to_be_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
    bytes
}

fn data(tuple: Tuple<'_>) -> Vec<Datum<'_>> {
    tuple.data().collect::<Result<_, _>>().expect("a whole tuple")
}

#[test]
fn null_unchanged_and_text_are_three_things() {
    // B007, B043, B076.
    let bytes = [&b"I\0\0\0\x07N"[..], &tuple(&[None, Some("<unchanged>"), Some(""), Some("x")])].concat();
    let Ok(Message::Insert { relation: 7, new }) = message(&bytes) else { panic!("an insert") };
    assert_eq!(data(new), [Datum::Null, Datum::Unchanged, Datum::Text(b""), Datum::Text(b"x")]);
}

#[test]
fn an_update_says_what_it_knows_of_the_old_row() {
    let new = tuple(&[Some("2"), Some("b")]);
    let plain = [&b"U\0\0\0\x07N"[..], &new].concat();
    assert!(matches!(message(&plain), Ok(Message::Update { old: Old::None, .. })));
    let key = [&b"U\0\0\0\x07K"[..], &tuple(&[Some("1"), None]), b"N", &new].concat();
    let Ok(Message::Update { old: Old::Key(old), new: read, .. }) = message(&key) else {
        panic!("an update")
    };
    assert_eq!(data(old), [Datum::Text(b"1"), Datum::Null]);
    assert_eq!(data(read), [Datum::Text(b"2"), Datum::Text(b"b")]);
    let full = [&b"U\0\0\0\x07O"[..], &tuple(&[Some("1"), Some("a")]), b"N", &new].concat();
    assert!(matches!(message(&full), Ok(Message::Update { old: Old::Full(_), .. })));
}

#[test]
fn a_transaction_has_its_commit_place_and_time_since_1970() {
    let begin = [&b"B"[..], &99_u64.to_be_bytes(), &1_i64.to_be_bytes(), &7_u32.to_be_bytes()].concat();
    let expected = Message::Begin { commit: 99, commit_time_us: 946_684_800_000_001, transaction: 7 };
    assert_eq!(message(&begin), Ok(expected));
    let commit = [&b"C\0"[..], &99_u64.to_be_bytes(), &120_u64.to_be_bytes(), &1_i64.to_be_bytes()].concat();
    assert_eq!(message(&commit), Ok(Message::Commit { end: 120 }));
}

#[test]
fn a_relation_lists_its_columns_by_their_exact_names() {
    // B103, B176.
    let bytes = [
        &b"R\0\0\0\x07"[..],
        "テスト\0café\0d\0\x02".as_bytes(),
        &[1],
        "Id\0".as_bytes(),
        &[0, 0, 0, 23, 255, 255, 255, 255],
        &[0],
        "id\0".as_bytes(),
        &[0, 0, 6, 164, 0, 8, 0, 6],
    ]
    .concat();
    let Ok(Message::Relation(relation)) = message(&bytes) else { panic!("a relation") };
    assert_eq!(
        (relation.oid, relation.schema, relation.name, relation.identity),
        (7, "テスト", "café", b'd')
    );
    let columns: Vec<_> = relation.columns().collect::<Result<_, _>>().expect("columns");
    let column =
        |in_key, name, type_oid, type_modifier| RelationColumn { in_key, name, type_oid, type_modifier };
    assert_eq!(columns, [column(true, "Id", 23, -1), column(false, "id", 1700, 524_294)]);
}

#[test]
fn a_truncate_lists_all_its_relations() {
    // B115, B116.
    let bytes = [&b"T\0\0\0\x02\x01"[..], &[0, 0, 0, 7, 0, 0, 0, 8]].concat();
    assert_eq!(message(&bytes), Ok(Message::Truncate { relations: &[0, 0, 0, 7, 0, 0, 0, 8] }));
}

#[test]
fn origins_are_passed_over_and_messages_of_the_log_are_read() {
    // B145.
    assert_eq!(message(b"O\0\0\0\0\0\0\0\x01origin\0"), Ok(Message::Other));
    let logged = |transactional, end, prefix, content| {
        Ok(Message::Logged(Logged { transactional, end, prefix, content }))
    };
    assert_eq!(message(b"M\0\0\0\0\0\0\0\0\x01p\0\0\0\0\x01x"), logged(false, 1, b"p", b"x"));
    assert_eq!(message(b"M\x01\0\0\0\0\0\0\x01\0\xff\0\0\0\0\0"), logged(true, 256, b"\xff", b""));
}

#[test]
fn frames_tell_data_from_keepalives() {
    let data = [&b"w"[..], &[0; 24], b"C"].concat();
    assert!(matches!(frame(&data), Ok(Frame::Data(b"C"))));
    let keepalive = [&b"k"[..], &120_u64.to_be_bytes(), &[0; 9]].concat();
    assert!(matches!(frame(&keepalive), Ok(Frame::Keepalive { end: 120 })));
    let bytes = [&[0, 0, 0, 2][..], b"ab", &[0, 0, 0, 3], b"c"].concat();
    let (first, rest) = split_frame(&bytes).expect("a frame");
    assert_eq!(first, b"ab");
    assert_eq!(split_frame(rest), None);
}

#[test]
fn damaged_messages_are_errors_wherever_they_end() {
    let whole =
        [&b"U\0\0\0\x07K"[..], &tuple(&[Some("1"), None]), b"N", &tuple(&[Some("2"), Some("b")])].concat();
    for length in 0..whole.len() {
        let read = message(&whole[..length]);
        let complete = read.is_ok_and(|message| match message {
            Message::Update { new, .. } => new.data().all(|datum| datum.is_ok()),
            _ => true,
        });
        assert!(!complete, "{length} bytes");
    }
    for bytes in [&b""[..], b"X", b"I\0\0\0\x07X\0\0", b"T\xff\xff\xff\xff\0", b"R\0\0\0\x07a"] {
        assert!(message(bytes).is_err(), "{bytes:?}");
    }
    for bytes in [&b""[..], b"w", b"k\0", b"x"] {
        assert!(frame(bytes).is_err(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn no_message_makes_the_reader_panic(tag in "[BCORYIUDTMwkx]", bytes: Vec<u8>) {
        let bytes = [tag.as_bytes(), &bytes].concat();
        let _ = frame(&bytes);
        let _ = split_frame(&bytes);
        match message(&bytes) {
            Ok(Message::Relation(relation)) => relation.columns().for_each(drop),
            Ok(Message::Insert { new, .. } | Message::Update { new, .. }) => new.data().for_each(drop),
            Ok(Message::Delete { old: Old::Key(old) | Old::Full(old), .. }) => old.data().for_each(drop),
            _ => {}
        }
    }
}
