//! The destination over a cluster in memory.

use serde_json::Value;
use tarn_batch::{BatchWriter, Before, Column, Op, Outgoing, RowHeader, Table, Type, Version};
use tarn_sdk::{Deletes, DestinationConfig, DestinationTable, FailureClass, QueueConfig};

use crate::connector::Connector;
use crate::fake::{Commit, Fake, Message};

fn column(name: &str, data_type: Type, key: u16) -> Column {
    let attribute = i32::from(name == "name") + 1;
    Column {
        name: name.to_owned(),
        data_type,
        type_name: "text".to_owned(),
        nullable: key == 0,
        key,
        attribute,
    }
}

fn table() -> Table {
    let columns = vec![column("id", Type::Int4, 1), column("name", Type::Text, 0)];
    Table { id: 1, schema: "public".to_owned(), name: "t".to_owned(), version: 1, columns }
}

fn config() -> DestinationConfig {
    let table = DestinationTable {
        source: "public.t".to_owned(),
        destination: "topic".to_owned(),
        ..DestinationTable::default()
    };
    let queue = QueueConfig { delivery_id: "tarn.m.1".to_owned(), ..QueueConfig::default() };
    DestinationConfig { mirror: "m".to_owned(), tables: vec![table], queue, ..DestinationConfig::default() }
}

fn connector(fake: &Fake) -> Connector<Fake> {
    Connector::new(config(), fake.clone())
}

fn header(op: Op, commit: u64) -> RowHeader {
    let version = Version { commit, ordinal: 0 };
    RowHeader { op, version, commit_time_us: 1_700_000_000_000_000, transaction: 9 }
}

/// A change of a row: its kind, commit, id after and id before.
struct Change(Op, u64, Option<i32>, Option<i32>);

fn changes(changes: &[Change]) -> Vec<u8> {
    let mut writer = BatchWriter::default();
    let index = writer.add_table(table());
    for Change(op, commit, new, old) in changes {
        writer.begin_row(index, &header(*op, *commit));
        if let Some(id) = new {
            writer.value(&id.to_le_bytes());
            writer.value(b"Zo\"e");
        }
        if let Some(id) = old {
            writer.begin_before(Before::Key);
            writer.value(&id.to_le_bytes());
            writer.unchanged();
        }
        writer.end_row();
    }
    writer.finish()
}

fn inserts(commits: std::ops::Range<u64>) -> Vec<u8> {
    let rows: Vec<_> =
        commits.map(|n| Change(Op::Insert, n, Some(i32::try_from(n).expect("small")), None)).collect();
    changes(&rows)
}

fn keys(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.key.clone().unwrap_or_default()).collect()
}

fn key(id: u64) -> String {
    format!("{{\"id\":{id}}}")
}

#[test]
fn a_change_is_a_message_that_says_what_happened_to_which_row() {
    let fake = Fake::new();
    let ack = connector(&fake)
        .write(&[changes(&[Change(Op::Update, 0x16_B374_D848, Some(7), None)])])
        .expect("written");
    assert_eq!((ack.rows, ack.durable), (1, true));
    let message = fake.committed().remove(0);
    assert_eq!((message.topic.as_str(), message.key.as_deref()), ("topic", Some("{\"id\":7}")));
    assert_eq!(
        message.value.as_deref(),
        Some(
            r#"{"op":"update","table":"public.t","key":{"id":7},"row":{"id":7,"name":"Zo\"e"},"old":null,"unchanged":[],"lsn":"16/B374D848","ordinal":0,"transaction":9,"committed":"2023-11-14T22:13:20Z"}"#
        )
    );
}

#[test]
fn a_key_that_changes_leaves_the_old_one() {
    for (deletes, expected) in [
        (Deletes::Record, vec!["{\"id\":1} delete", "{\"id\":2} update"]),
        (Deletes::Tombstone, vec!["{\"id\":1} ~", "{\"id\":2} update"]),
        (Deletes::Both, vec!["{\"id\":1} delete", "{\"id\":1} ~", "{\"id\":2} update"]),
    ] {
        let fake = Fake::new();
        let mut connector = connector(&fake);
        connector.config.queue.deletes = deletes;
        connector.write(&[changes(&[Change(Op::Update, 5, Some(2), Some(1))])]).expect("written");
        let told = |message: &Message| {
            let op = message.value.as_deref().map_or("~".to_owned(), |value| {
                let value: Value = serde_json::from_str(value).expect("JSON");
                value["op"].as_str().expect("a kind").to_owned()
            });
            format!("{} {op}", message.key.as_deref().unwrap_or_default())
        };
        let committed = fake.committed();
        assert_eq!(committed.iter().map(told).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_the_source_sends_again_is_in_the_queue_once() {
    let fake = Fake::new();
    connector(&fake).write(&[inserts(1..6)]).expect("written");
    // Another instance, as after a kill: it gets some of it again, in other batches.
    let mut again = connector(&fake);
    again.write(&[inserts(3..5), inserts(5..9)]).expect("written");
    again.write(&[inserts(9..10)]).expect("written");
    assert_eq!(keys(&fake.committed()), (1..10).map(key).collect::<Vec<_>>());
}

#[test]
fn a_commit_of_unknown_outcome_is_asked_for() {
    for commit in [Commit::Unheard, Commit::Lost] {
        let fake = Fake::new();
        let mut connector = connector(&fake);
        connector.write(&[inserts(1..3)]).expect("written");
        fake.0.borrow_mut().commits.push(commit);
        let failure = connector.write(&[inserts(3..6)]).expect_err("no answer");
        assert_eq!(failure.class, FailureClass::Retry);
        // The same instance or another one, what waits is written again.
        connector.write(&[inserts(3..6), inserts(6..8)]).expect("written");
        assert_eq!(keys(&fake.committed()), (1..8).map(key).collect::<Vec<_>>(), "{commit:?}");
    }
}

#[test]
fn an_earlier_instance_can_commit_nothing_more() {
    let fake = Fake::new();
    let mut zombie = connector(&fake);
    zombie.write(&[inserts(1..3)]).expect("written");
    let mut later = connector(&fake);
    later.write(&[inserts(1..5)]).expect("written");
    let failure = zombie.write(&[inserts(3..5)]).expect_err("fenced");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "kafka_fenced"));
    assert_eq!(keys(&fake.committed()), (1..5).map(key).collect::<Vec<_>>());
}

#[test]
fn a_record_that_is_too_large_gives_the_write_up_and_is_found_by_smaller_ones() {
    let fake = Fake::new();
    fake.0.borrow_mut().value_bytes_max = 30;
    let mut connector = connector(&fake);
    let failure = connector.write(&[inserts(1..3)]).expect_err("too large");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Record, "message_too_large"));
    assert!(failure.message.contains("id=1") && failure.table == "public.t", "{failure:?}");
    assert_eq!(fake.committed(), []);
    fake.0.borrow_mut().value_bytes_max = 1_000;
    connector.write(&[inserts(2..3)]).expect("the rest fits");
    assert_eq!(keys(&fake.committed()), [key(2)]);
}

#[test]
fn a_part_of_a_load_is_there_wholly_or_not_at_all_and_once() {
    let fake = Fake::new();
    let mut first = connector(&fake);
    assert!(!first.begin_part("t 0").expect("begun"));
    assert!(!first.write(&[inserts(1..3)]).expect("written").durable);
    first.write(&[inserts(3..5)]).expect("written");
    assert_eq!(fake.committed(), [], "nothing of it shows before its end");
    // It is killed, and another instance begins the part again; then the answer to its end is lost.
    let mut second = connector(&fake);
    assert!(!second.begin_part("t 0").expect("begun"));
    second.write(&[inserts(1..5)]).expect("written");
    fake.0.borrow_mut().commits.push(Commit::Unheard);
    second.end_part().expect_err("no answer");
    let mut third = connector(&fake);
    assert!(third.begin_part("t 0").expect("begun"), "it is there");
    assert!(!third.begin_part("t 1").expect("begun"), "another part");
    third.end_part().expect("an empty part ends too");
    assert!(third.begin_part("t 1").expect("begun"));
    assert_eq!(keys(&fake.committed()), (1..5).map(key).collect::<Vec<_>>());
}

#[test]
fn a_part_that_takes_too_long_for_one_transaction_is_committed_piece_by_piece_and_ends() {
    let fake = Fake::new();
    let mut first = connector(&fake);
    assert!(!first.begin_part("t 0").expect("begun"));
    assert!(!first.write(&[inserts(1..3)]).expect("written").durable);
    // As if the time were over.
    first.part_whole_ms = 0;
    assert!(first.write(&[inserts(3..5)]).expect("written").durable);
    assert_eq!(keys(&fake.committed()), (1..5).map(key).collect::<Vec<_>>());
    // From there on each write is one: nothing of it waits for the end.
    first.part_whole_ms = u32::MAX;
    assert!(first.write(&[inserts(5..6)]).expect("written").durable);
    fake.0.borrow_mut().commits.push(Commit::Lost);
    first.write(&[inserts(6..8)]).expect_err("no answer");
    // Another instance goes on with it, as the loading worker does: what is committed stays, and the part ends.
    let mut second = connector(&fake);
    assert!(!second.begin_part("t 0").expect("begun"), "it has not ended");
    second.write(&[inserts(6..8)]).expect("written");
    second.end_part().expect("ended");
    assert!(connector(&fake).begin_part("t 0").expect("begun"), "it is there");
    assert_eq!(keys(&fake.committed()), (1..8).map(key).collect::<Vec<_>>());
}

#[test]
fn scripts_make_so_many_topics_and_no_more() {
    let fake = Fake::new();
    let mut config = config();
    config.queue.topics_max = 2;
    let mut connector = Connector::new(config, fake.clone());
    let ensure = |connector: &mut Connector<Fake>, names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let Connector { client, config, topics, .. } = connector;
        topics.ensure(client, config, &names)
    };
    // What tables name is no script's, and what is there is not made.
    connector.prepare().expect("made");
    fake.0.borrow_mut().topics.insert("there".to_owned(), 3);
    ensure(&mut connector, &["there", "user_1", "user_2", "topic"]).expect("two are made");
    let failure = ensure(&mut connector, &["user_3"]).expect_err("one too many");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "topics_too_many"));
    assert!(failure.message.contains("user_3") && failure.message.contains('2'), "{failure:?}");
    assert!(failure.hint.contains("TARN_KAFKA_TOPICS_MAX"), "{failure:?}");
    ensure(&mut connector, &["user_1", "there"]).expect("those are there");
    assert!(!fake.0.borrow().topics.contains_key("user_3"));
}

#[test]
fn whether_brokers_allow_transactions_as_long_as_a_part_is_found_when_a_mirror_is_created() {
    let fake = Fake::new();
    fake.0.borrow_mut().timeout_ms_max = 300_000;
    let problems = connector(&fake).validate().expect("looked at");
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert!(problem.hint.contains("transaction.max.timeout.ms"), "{problem:?}");
    fake.0.borrow_mut().timeout_ms_max = 900_000;
    assert_eq!(connector(&fake).validate().expect("looked at").len(), 0);
}

#[test]
fn several_messages_of_a_record_are_told_apart_and_dead_letters_are_never_passed_over() {
    let outgoing = |count: usize, commit| {
        let mut writer = BatchWriter::default();
        let index = writer.add_table(table());
        for at in 0..count {
            let key = at.to_string();
            let message = Outgoing { key: Some(key.as_bytes()), value: Some(b"v"), ..Outgoing::default() };
            writer.outgoing(index, &header(Op::Outgoing, commit), &message);
        }
        writer.finish()
    };
    let fake = Fake::new();
    connector(&fake).write(&[outgoing(2, 7)]).expect("written");
    // As if a transaction had been cut between the messages of one record.
    connector(&fake).write(&[outgoing(3, 7)]).expect("written");
    assert_eq!(keys(&fake.committed()), ["0", "1", "2"]);
    let mut letters = config();
    letters.queue.replays = true;
    Connector::new(letters, fake.clone()).write(&[outgoing(1, 3)]).expect("written");
    assert_eq!(keys(&fake.committed()), ["0", "1", "2", "0"]);
}

#[test]
fn topics_are_made_or_missed_with_the_remedy() {
    let fake = Fake::new();
    let mut config = config();
    config.queue.create_topics = false;
    let failure = Connector::new(config.clone(), fake.clone()).prepare().expect_err("missing");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "topic_missing"));
    assert!(failure.message.contains("tarn_positions, topic") && failure.hint.contains("16"), "{failure:?}");
    config.queue.create_topics = true;
    Connector::new(config, fake.clone()).prepare().expect("made");
    let topics = fake.0.borrow().topics.clone();
    assert_eq!(
        topics.into_iter().collect::<Vec<_>>(),
        [("tarn_positions".to_owned(), 16), ("topic".to_owned(), 3)]
    );
}
