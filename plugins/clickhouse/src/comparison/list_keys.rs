//! The keys that a target holds.

use tarn_sdk::sql::clickhouse::ident;
use tarn_sdk::{Failure, KeyPage};

use super::find::cut_off;
use super::hash::hash;
use super::{DOING, QUIETLY, key_text};
use crate::client::Client;
use crate::config::KEY_PAGE_MAX;
use crate::failure::of_error;
use crate::plan::{Plan, header};
use crate::read_back::names;
use crate::row_binary::split_value;
use crate::target_type::TargetType;

/// A page of the keys that the target holds now, in the order of its sorting key. The latest row of each is
/// found by its version, so that every engine and every state of merging gives the same.
pub(crate) fn list_keys(
    client: &mut impl Client,
    plan: &Plan,
    after: &[String],
    count_max: u32,
) -> Result<KeyPage, Failure> {
    let count = count_max.clamp(1, KEY_PAGE_MAX);
    let sql = statement(plan, after, count)?;
    let answer = client.query(&sql).map_err(|error| {
        of_error(error, &format!("{DOING} {}", plan.target)).with_table(plan.table.qualified_name())
    })?;
    let Some(mut rest) = answer.strip_prefix(&answer_header(plan)[..]) else {
        let message = format!("{DOING} {}: its columns are others by now", plan.target);
        return Err(
            Failure::retry("target_changed_meanwhile", message).with_table(plan.table.qualified_name())
        );
    };
    let mut page = KeyPage { keys: Vec::new(), hashes: Vec::new(), next: Vec::new() };
    let mut rows = 0;
    while !rest.is_empty() {
        let row = read_row(plan, rest).ok_or_else(|| cut_off(plan))?;
        rest = row.rest;
        rows += 1;
        if rows == count {
            page.next.clone_from(&row.texts);
        }
        if !row.deleted {
            page.keys.push(row.texts);
            page.hashes.push(hash(row.key));
        }
    }
    Ok(page)
}

fn statement(plan: &Plan, after: &[String], count: u32) -> Result<String, Failure> {
    let key = names(plan, &plan.key);
    let texts = key_text::source_order(plan).into_iter().enumerate().filter_map(|(at, source)| {
        let column = plan.column(source)?;
        let text = key_text::expression(&plan.table.columns[source].data_type, column);
        Some(format!("{text} AS {}", ident(&text_name(at))))
    });
    let texts = texts.collect::<Vec<_>>().join(", ");
    let from = if after.is_empty() {
        String::new()
    } else {
        let values = key_text::values(plan, after)?;
        let first = names(plan, &plan.key[..1]);
        // The index finds the first column's place; the rest decides among equal ones.
        format!("WHERE {first} >= {} AND tuple({key}) > tuple({})", values[0], values.join(", "))
    };
    let (version, deleted, target) =
        (ident(&plan.own.version), ident(&plan.own.deleted), ident(&plan.target));
    Ok(format!(
        "SELECT {key}, {texts}, {deleted} FROM {target} {from} \
         ORDER BY {key}, {version} DESC LIMIT 1 BY {key} LIMIT {count} SETTINGS {QUIETLY} FORMAT RowBinaryWithNamesAndTypes"
    ))
}

/// What a column of text is called in the answer: no column of a target is.
fn text_name(at: usize) -> String {
    format!("_tarn_key_text_{at}")
}

fn answer_header(plan: &Plan) -> Vec<u8> {
    let columns = plan.key.iter().filter_map(|&source| plan.column(source));
    let mut all: Vec<(String, String)> =
        columns.map(|column| (column.name.clone(), column.type_text.clone())).collect();
    all.extend((0..plan.key.len()).map(|at| (text_name(at), "String".to_owned())));
    all.push((plan.own.deleted.clone(), plan.own_types[1].clone()));
    let all: Vec<_> = all.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    header(&all)
}

/// One row of the answer.
struct Listed<'a> {
    /// In the form that the target holds it in.
    key: &'a [u8],
    /// In the source's order.
    texts: Vec<String>,
    deleted: bool,
    rest: &'a [u8],
}

fn read_row<'a>(plan: &Plan, bytes: &'a [u8]) -> Option<Listed<'a>> {
    let mut rest = bytes;
    for column in plan.key.iter().filter_map(|&source| plan.column(source)) {
        rest = split_value(&column.data_type, rest)?.1;
    }
    let key = &bytes[..bytes.len() - rest.len()];
    let mut texts = Vec::with_capacity(plan.key.len());
    for _ in &plan.key {
        let (text, after) = split_text(rest)?;
        texts.push(text);
        rest = after;
    }
    let (&deleted, rest) = rest.split_first()?;
    Some(Listed { key, texts, deleted: deleted != 0, rest })
}

/// A text without the length before it.
fn split_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (value, rest) = split_value(&TargetType::String, bytes)?;
    let length = value.iter().position(|byte| byte & 0x80 == 0)? + 1;
    Some((String::from_utf8_lossy(&value[length..]).into_owned(), rest))
}
