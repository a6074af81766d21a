//! Letters in a catalog: which are kept, and what becomes of records that come again.

use std::sync::Arc;

use bytes::Bytes;
use tarn_batch::{BatchWriter, Op, RowHeader, Version, write_header};
use tarn_catalog::{CatalogOptions, LetterQuery, MirrorCreated};
use tarn_model::{ClickHouseConfig, MirrorSpec, Peer, PeerConfig, PostgresConfig};
use tarn_replication::{Destination as _, Silent, Transform as _};

use super::super::chain::Chain;
use super::super::chain::tests::{link, versions};
use super::super::letter::tests::{Change, changes, table};
use super::super::letter::{key_text, shown};
use super::super::series::Series;
use super::super::sieve::tests::Picky;
use super::super::sieve::{Sieve, SieveParts};
use super::*;

/// A catalog with a mirror.
struct Office {
    _home: tempfile::TempDir,
    catalog: Catalog,
    mirror: i64,
}

impl Office {
    async fn open() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let options = CatalogOptions { data_dir: home.path().into(), ..CatalogOptions::default() };
        let catalog = Catalog::open(&options).await.expect("a fresh catalog");
        for (name, config) in [
            ("from", PeerConfig::Postgres(PostgresConfig::default())),
            ("to", PeerConfig::Clickhouse(ClickHouseConfig::default())),
        ] {
            catalog.store_peer(&Peer { name: name.into(), config }, None).await.expect("stored");
        }
        let spec = MirrorSpec {
            name: "m".into(),
            source_peer: "from".into(),
            destination_peer: "to".into(),
            ..MirrorSpec::default()
        };
        let MirrorCreated::Done(mirror) = catalog.create_mirror(&spec).await.expect("created") else {
            panic!("the mirror is not created");
        };
        Self { _home: home, catalog, mirror }
    }

    /// The desk of a new run.
    async fn desk(&self, again: Again) -> Desk {
        let book = Arc::new(MirrorBook::default());
        book.load(&self.catalog.letter_marks(self.mirror).await.expect("read"), again);
        Desk::new(RecordErrorPolicy::DeadLetter, &self.catalog, self.mirror, 1 << 30, book)
    }

    async fn keep(&self, batch: &Batch, stage: RecordStage, rows: &[u32]) {
        let desk = self.desk(Again::Tried).await;
        let rejected: Vec<_> =
            rows.iter().map(|&row| Rejection { row, stage, ..Rejection::default() }).collect();
        desk.keeper().expect("letters are kept").keep(batch, &rejected).await.expect("kept");
    }

    /// The keys of the letters that wait.
    async fn waiting(&self) -> Vec<String> {
        let query = LetterQuery { state: Some(tarn_model::DeadLetterState::Waiting), after: 0, limit: 100 };
        let letters = self.catalog.letters(self.mirror, query).await.expect("read");
        letters.into_iter().map(|letter| letter.key).collect()
    }
}

fn three() -> Batch {
    changes(&[1, 2, 3].map(|id| Change(Op::Insert, 10 + id as u64, id, Some("x"), None)))
}

#[tokio::test]
async fn a_record_that_comes_again_is_tried_by_a_table_and_left_to_its_letter_by_a_queue() {
    for (again, has, waiting) in
        [(Again::Tried, &[1, 2, 3][..], vec![]), (Again::PassedOver, &[1, 3], vec!["id=2"])]
    {
        let office = Office::open().await;
        office.keep(&three(), RecordStage::Destination, &[1]).await;
        let desk = office.desk(again).await;
        let parts = SieveParts {
            records: desk.records(100),
            desk,
            observer: Arc::new(Silent),
            careful: Arc::default(),
            scripted: false,
        };
        let mut sieve = Sieve::new(Picky::new(&[]), parts);
        sieve.write(vec![three()]).await.expect("written");
        sieve.flush().await.expect("durable");
        assert_eq!(sieve.durable(), has, "{again:?}");
        assert_eq!(office.waiting().await, waiting, "{again:?}");
    }
}

#[tokio::test]
async fn a_script_that_would_take_the_record_now_does_not_see_it_where_it_is_left_to_its_letter() {
    for (again, through, waiting) in
        [(Again::Tried, vec![(11, 3), (12, 3)], vec![]), (Again::PassedOver, vec![(11, 3)], vec!["id=2"])]
    {
        let office = Office::open().await;
        office.keep(&three(), RecordStage::Script, &[1]).await;
        let desk = office.desk(again).await;
        let mut chain = Chain::new(vec![Series::new(vec![link("s", 0, 3)])], desk.keeper().cloned());
        let answer = chain.apply(three()).await.expect("applied");
        assert_eq!(versions(&answer.batch), through, "{again:?}");
        let rejected: Vec<_> = answer.rejected.iter().map(|one| (one.row, one.key.as_str())).collect();
        assert_eq!(rejected, [(2, "id=3")], "{again:?}");
        assert_eq!(answer.dropped, 0, "the script dropped none: {again:?}");
        assert_eq!(office.waiting().await, waiting, "{again:?}");
    }
}

/// Messages that a script made: record key, value; of one record, or as a load makes them.
fn messages(loaded: bool, messages: &[(&str, &[u8])]) -> Batch {
    let mut writer = BatchWriter::default();
    let index = writer.add_table(table());
    for (record, value) in messages {
        let header = RowHeader {
            op: Op::Outgoing,
            version: Version { commit: 9, ordinal: 1 },
            commit_time_us: if loaded { RowHeader::TIME_UNKNOWN } else { 7 },
            transaction: u64::from(!loaded),
        };
        let mut headers = Vec::new();
        write_header(&mut headers, "kind", Some(b"new"));
        writer.begin_row(index, &header);
        for cell in [Some(&b"topic"[..]), None, Some(value), None, Some(&headers), Some(record.as_bytes())] {
            match cell {
                Some(cell) => writer.value(cell),
                None => writer.null(),
            }
        }
        writer.end_row();
    }
    Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }
}

#[tokio::test]
async fn each_message_has_a_letter_of_its_own_which_shows_all_of_it() {
    for loaded in [false, true] {
        let office = Office::open().await;
        let batch = messages(loaded, &[("id=1", b"one"), ("id=1", b"two"), ("id=2", b"\xff")]);
        office.keep(&batch, RecordStage::Destination, &[0, 1, 2]).await;
        assert_eq!(office.waiting().await, ["id=1", "id=1", "id=2"]);
        let mut told: Vec<Vec<String>> = Vec::new();
        for letter in office.catalog.waiting_letters(office.mirror, &[], 10).await.expect("read") {
            let letter = office.catalog.waiting_letter(office.mirror, letter.id).await.expect("read");
            let shown = shown(&letter.expect("it waits").record).expect("readable").after.into_iter();
            told.push(
                shown.map(|cell| format!("{}={}", cell.name, cell.value.unwrap_or("~".into()))).collect(),
            );
        }
        let expect = |value: &str| -> Vec<String> {
            ["topic=topic", "key=~", &format!("value={value}"), "partition=~", "header kind=new"]
                .map(str::to_owned)
                .to_vec()
        };
        assert_eq!(told, ["one", "two", r"\xff"].map(expect), "loaded: {loaded}");
    }
}

#[test]
fn a_message_is_named_by_the_key_of_its_record() {
    let batch = messages(false, &[("id=5", b"x")]);
    let rows = Rows::parse(&batch.bytes).expect("a batch");
    let row = rows.rows().next().expect("one").expect("sound");
    assert_eq!(key_text(rows.table(&row), &row), "id=5");
}
