//! Rows that only the destination has.

use tarn_batch::BatchWriter;
use tarn_model::{ComparedRows, Failure, TableStage, TableVerification};

use tarn_wasm::Outcome;

use super::digest::{Buckets, Digest};
use super::point::Point;
use super::run::{Desk, Sides, Subject};
use super::suspect::Suspect;
use super::table::{digest, leave_out, take};
use super::trial::judge;
use crate::config::{VERIFY_KEY_PAGE, VERIFY_LOOKUP_KEYS};

/// Looks for them, from where the table's stage says.
pub(super) async fn search(
    desk: &Desk,
    sides: &mut Sides,
    subject: &Subject,
    tables: &mut [TableVerification],
    at: usize,
) -> Result<(), Failure> {
    if tables[at].keys_changed {
        let why = "rows that only the destination has were not looked for: the script changes keys";
        leave_out(&mut tables[at], why);
        return Ok(());
    }
    let schema = BatchWriter::schema([&subject.table]);
    let buckets = differing(desk, sides, subject, &schema).await?;
    while let TableStage::Searching { partitions, after } = tables[at].stage.clone() {
        if buckets.is_empty() {
            tables[at].stage = TableStage::Ended { partitions };
            break;
        }
        let page = sides.comparison.list_keys(&schema, &after, VERIFY_KEY_PAGE).await?;
        sides.pace.take(page_bytes(&page.keys)).await;
        let asked: Vec<(Vec<String>, u64)> = page
            .keys
            .into_iter()
            .zip(page.hashes)
            .filter(|(_, hash)| *hash <= desk.hash_max && buckets.have(*hash))
            .collect();
        let mut suspects = unequal(sides, subject, &asked).await?;
        suspects.retain(|suspect| !tables[at].unequal.contains(&suspect.hash));
        // What came of a page is taken over with the place of the next one.
        let mut table = tables[at].clone();
        table.stage = match page.next.is_empty() {
            true => TableStage::Ended { partitions },
            false => TableStage::Searching { partitions, after: page.next },
        };
        if !suspects.is_empty() {
            let judged = judge(desk, sides, subject, suspects).await?;
            take(&mut table, subject, judged);
        }
        table.rows = table.rows_now();
        table.under_way = ComparedRows::default();
        tables[at] = table;
        desk.save(tables, None).await?;
    }
    Ok(())
}

/// The buckets in which the keys of both sides do not add up to the same.
async fn differing(
    desk: &Desk,
    sides: &mut Sides,
    subject: &Subject,
    schema: &[u8],
) -> Result<Buckets, Failure> {
    let ours = digest(desk, subject).await?;
    let mut theirs = Digest::new();
    let mut after = Vec::new();
    loop {
        let page = sides.comparison.list_keys(schema, &after, VERIFY_KEY_PAGE).await?;
        sides.pace.take(page_bytes(&page.keys)).await;
        for hash in page.hashes.into_iter().filter(|hash| *hash <= desk.hash_max) {
            theirs.add(hash);
        }
        if page.next.is_empty() {
            return Ok(ours.differing(&theirs));
        }
        after = page.next;
    }
}

/// Those of the destination's keys that the source has no row of, or another one.
async fn unequal(
    sides: &mut Sides,
    subject: &Subject,
    asked: &[(Vec<String>, u64)],
) -> Result<Vec<Suspect>, Failure> {
    let mut suspects = Vec::new();
    if asked.is_empty() {
        return Ok(suspects);
    }
    let point = Point::hold(&sides.instances).await?;
    for chunk in asked.chunks(VERIFY_LOOKUP_KEYS) {
        let keys: Vec<_> = chunk.iter().map(|(key, _)| key.clone()).collect();
        let mut found = sides.look_up(subject, &point.place, &keys).await?;
        for (key, hash) in chunk {
            let seen = match found.remove(hash) {
                // It is equal.
                Some(None) => continue,
                // It was told of when it was read.
                Some(Some(finding)) if finding.outcome == Outcome::Unwritable => continue,
                Some(Some(finding)) => finding.commit,
                None => 0,
            };
            suspects.push(Suspect::new(key.clone(), key.clone(), *hash, seen));
        }
    }
    Ok(suspects)
}

fn page_bytes(keys: &[Vec<String>]) -> u64 {
    keys.iter().flatten().map(|text| text.len() as u64 + 8).sum()
}
