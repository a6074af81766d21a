//! Random programs over random rows, from fixed seeds: whatever a script does, the runtime answers, every
//! record becomes one of four things, and what goes on is sound.

use tarn_batch::text::write_text;
use tarn_batch::{Batch, Cell, Op, Type};
use tarn_script::fixture::{FUZZ_BATCHES, Random, fuzz_records, random_batch};
use tarn_script::json::is_json;

use super::Recorder;
use crate::js::memory_used;
use crate::{Applied, Output, Runtime};

mod program;

/// Programs that are tried; each takes some milliseconds.
const PROGRAMS: u64 = 1_500;
/// Sources that are damaged.
const DAMAGED: u64 = 600;
/// Batches of random rows.
const BATCHES: u64 = 150;

/// A runtime with a script whose steps are counted; none when the script is refused.
fn load(source: &str, output: Output) -> Option<Runtime> {
    let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
    runtime.engine().limit_interrupts();
    runtime.load(source).ok()?;
    runtime.start(Vec::new(), output);
    runtime.engine().limit_interrupts();
    Some(runtime)
}

fn run(source: &str, batch: &[u8], output: Output) -> Option<Applied> {
    Some(load(source, output)?.apply(batch).expect("a sound batch is answered"))
}

/// Everything that holds for every outcome.
fn check(applied: &Applied, given: &[u8], what: &str) {
    let given = Batch::parse(given).expect("the batch is sound");
    let batch = Batch::parse(&applied.batch).unwrap_or_else(|error| panic!("{error} after {what}"));
    batch.verify().unwrap_or_else(|error| panic!("{error} after {what}"));
    assert_eq!(batch.row_count(), applied.rows, "{what}");
    let mut sent = 0;
    for row in batch.rows().map(|row| row.expect("it was verified")) {
        if row.op() == Op::Outgoing {
            sent += 1;
            let message = row.outgoing().expect("sound").expect("a message");
            assert!(message.headers.into_iter().all(|header| header.is_ok()), "{what}");
            let value = message.value.unwrap_or(b"null");
            assert!(is_json(value), "{} is no JSON after {what}", value.escape_ascii());
            continue;
        }
        let images = [Some(row.after()), row.before().map(|(_, cells)| cells)];
        let columns = &batch.table(&row).columns;
        for (cell, column) in images.into_iter().flatten().flat_map(|cells| cells.zip(columns)) {
            if let Cell::Value(value) = cell.expect("it was verified") {
                check_value(&column.data_type, value, what);
            }
        }
    }
    let whole = applied.rows - sent + applied.dropped + applied.rejected.len() as u32;
    assert!(whole <= given.row_count(), "{what}");
    assert!(sent > 0 || whole == given.row_count(), "a record is nowhere after {what}");
}

fn check_value(data_type: &Type, value: &[u8], what: &str) {
    let mut text = String::new();
    write_text(data_type, value, &mut text).unwrap_or_else(|error| panic!("{error} after {what}"));
    if *data_type == Type::Json {
        assert!(is_json(value), "{text} is no JSON after {what}");
    }
}

#[test]
fn random_programs_over_random_rows_are_answered() {
    let wanted = fuzz_records();
    let (mut seed, mut records) = (0, 0);
    while wanted.map_or(seed < PROGRAMS, |wanted| records < wanted) {
        let mut random = Random::new(seed);
        let source = program::write(&mut random);
        let count = if wanted.is_some() { FUZZ_BATCHES } else { 1 };
        let batches: Vec<_> = (0..count).map(|_| random_batch(&mut random)).collect();
        let what = format!("seed {seed}:\n{source}");
        for output in [Output::Rows, Output::Messages] {
            if let Some(mut runtime) = load(&source, output) {
                for batch in &batches {
                    runtime.engine().limit_interrupts();
                    let applied = runtime.apply(batch).expect("a sound batch is answered");
                    records += u64::from(Batch::parse(batch).expect("it is sound").row_count());
                    check(&applied, batch, &what);
                }
            }
            assert_eq!(memory_used(), 0, "memory is left after {what}");
        }
        seed += 1;
    }
}

#[test]
fn programs_are_mostly_valid_and_do_things() {
    let (mut loaded, mut changed, mut sent) = (0, 0, 0);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let source = program::write(&mut random);
        let batch = random_batch(&mut random);
        let Some(applied) = run(&source, &batch, Output::Rows) else { continue };
        loaded += 1;
        changed += u32::from(applied.batch != batch);
        let messages = run(&source, &batch, Output::Messages).map_or(0, |applied| applied.rows);
        sent += u32::from(messages > 0);
    }
    assert!(loaded > 80 && changed > 20 && sent > 10, "{loaded} {changed} {sent}");
}

#[test]
fn damaged_sources_are_refused_or_answered() {
    for seed in 0..DAMAGED {
        let mut random = Random::new(seed);
        let mut source = program::write(&mut random).into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(source.len() as u64) as usize;
            if source.is_empty() {
                break;
            }
            match random.below(3) {
                0 => source[at] = random.below(256) as u8,
                1 => drop(source.remove(at)),
                _ => source.truncate(at.max(1)),
            }
        }
        let batch = random_batch(&mut random);
        let source = String::from_utf8_lossy(&source);
        if let Some(applied) = run(&source, &batch, Output::Rows) {
            check(&applied, &batch, &format!("seed {seed}:\n{source}"));
        }
    }
}

/// Reads and assigns every column, so that every row is written anew.
const CARRY: &str = "function onRecord(r) {
    for (const row of [r.new ?? r.old, r.new ? r.old : null]) {
      if (row) for (const [column, value] of row) row[column] = value;
    }
    return r;
}";

#[test]
fn random_values_are_carried_exactly() {
    for seed in 0..BATCHES {
        let batch = random_batch(&mut Random::new(seed));
        let applied = run(CARRY, &batch, Output::Rows).expect("it loads");
        assert_eq!(applied.rejected, [], "seed {seed}");
        assert_eq!(applied.batch, batch, "seed {seed}");
    }
}

#[test]
fn random_rows_are_valid_json_with_every_integer() {
    const ENCODE: &str = "function onRecord(r) {
          const text = tarn.json.encode(r.row, { nan: 'text', json: 'nested' });
          // What was packed is there again.
          for (const [column, value] of Object.entries(tarn.msgpack.decode(tarn.msgpack.encode(r.row)))) {
            if (typeof value === 'bigint' && value !== r.row[column]) throw column;
          }
          return text;
        }";
    for seed in 0..BATCHES {
        let batch = random_batch(&mut Random::new(seed));
        let applied = run(ENCODE, &batch, Output::Messages).expect("it loads");
        let reasons: Vec<_> = applied.rejected.iter().map(|one| &*one.message).collect();
        assert_eq!(reasons, [""; 0], "seed {seed}");
        let given = Batch::parse(&batch).expect("sound");
        let sent = Batch::parse(&applied.batch).expect("sound");
        assert_eq!(given.row_count(), sent.row_count(), "seed {seed}");
        for (row, message) in given.rows().zip(sent.rows()) {
            let (row, message) = (row.expect("sound"), message.expect("sound"));
            let value = message.outgoing().expect("sound").expect("a message").value.unwrap_or_default();
            let json: serde_json::Value =
                serde_json::from_slice(value).unwrap_or_else(|error| panic!("{error} at seed {seed}"));
            for (at, column) in given.table(&row).columns.iter().enumerate() {
                let (Type::Int8, Cell::Value(bytes)) = (&column.data_type, row.cell(at).expect("sound"))
                else {
                    continue;
                };
                let number = i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
                assert_eq!(json[&column.name].as_i64(), Some(number), "seed {seed}");
            }
        }
    }
}
