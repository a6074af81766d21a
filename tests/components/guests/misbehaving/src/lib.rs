//! A source that misbehaves in `read` as its mirror's name says: `loop`, `recursion`, … Each test of the
//! sandbox picks one. It behaves by the name `good`.

mod misdeed;

use tarn_sdk::batch::{BatchWriter, Column, Op, RowHeader, Table, Type, Version};
use tarn_sdk::{Changes, Description, Failure, Limits, Problem, Snapshot, Source, SourceConfig, log};

/// The source; its text is the misdeed's name.
struct Misbehaving(String);

impl Source for Misbehaving {
    fn configure(config: SourceConfig) -> Result<Self, Failure> {
        Ok(Self(config.mirror))
    }

    fn version(&mut self) -> Result<String, Failure> {
        Ok("1".to_owned())
    }

    /// A hundred thousand findings of a kilobyte each.
    fn validate(&mut self) -> Result<Vec<Problem>, Failure> {
        Ok((0..100_000).map(|field| Problem::new(format!("field {field}"), "x".repeat(1024))).collect())
    }

    fn schema(&mut self) -> Result<Vec<Description>, Failure> {
        Ok(vec![table().into()])
    }

    fn setup(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(vec![1])
    }

    fn hold_snapshot(&mut self) -> Result<Snapshot, Failure> {
        Ok(Snapshot { token: String::new(), horizon: String::new(), sequence: 0 })
    }

    fn plan_snapshot(&mut self, table: &str, _rows: u64, _parallel: u32) -> Result<Vec<String>, Failure> {
        Ok(vec![table.to_owned()])
    }

    fn plan_catch_up(&mut self, partition: &str, _horizon: &str) -> Result<String, Failure> {
        Ok(partition.to_owned())
    }

    fn open_snapshot(
        &mut self,
        _token: &str,
        _partition: &str,
        _start: &[u8],
        _generation: u32,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn read_snapshot(&mut self, _limits: Limits) -> Result<Vec<u8>, Failure> {
        Ok(Vec::new())
    }

    fn open(&mut self, _start: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    fn read(&mut self, _limits: Limits) -> Result<Changes, Failure> {
        log::info(&format!("about to do: {}", self.0));
        let batch = match self.0.as_str() {
            "good" => one_row(),
            "garbage" => b"this is no batch".to_vec(),
            "garbage-rows" => garbage_rows(),
            "two-rows-of-one" => return Ok(Changes { rows: 2, ..changes(one_row()) }),
            "failure" => {
                return Err(Failure::position_lost("gone", "the position is gone").with_hint("resync"));
            }
            misdeed => misdeed::commit(misdeed)?,
        };
        Ok(changes(batch))
    }

    fn confirm(&mut self, _position: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    fn alter(&mut self, _config: SourceConfig) -> Result<Vec<u8>, Failure> {
        Ok(vec![2])
    }

    fn teardown(&mut self) -> Result<Vec<Problem>, Failure> {
        Ok(Vec::new())
    }
}

tarn_sdk::export_source!(Misbehaving);

fn changes(batch: Vec<u8>) -> Changes {
    Changes { schema: Vec::new(), batch, rows: 1, position: vec![7], sequence: 7 }
}

fn table() -> Table {
    let column = Column {
        name: "id".to_owned(),
        data_type: Type::Int8,
        type_name: "bigint".to_owned(),
        nullable: false,
        key: 1,
        attribute: 1,
    };
    Table { id: 1, schema: "public".to_owned(), name: "t".to_owned(), version: 1, columns: vec![column] }
}

fn one_row() -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(256);
    let index = writer.add_table(table());
    let version = Version { commit: 1, ordinal: 0 };
    writer.begin_row(index, &RowHeader { op: Op::Insert, version, commit_time_us: 0, transaction: 1 });
    writer.value(&42i64.to_le_bytes());
    writer.end_row();
    writer.finish()
}

/// A whole envelope around a row that claims to be longer than the batch.
fn garbage_rows() -> Vec<u8> {
    let mut batch = one_row();
    batch[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    batch
}
