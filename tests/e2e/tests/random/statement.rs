//! Statements that change rows.

use super::alteration;
use super::dice::Dice;
use super::table::{KEYS_MAX, Layout, PARTITION_WIDTH, Table};

/// The first key of a bulk of rows.
const BULK: u64 = 10_000;

#[derive(Clone, Copy, Debug)]
enum Sort {
    Insert,
    InsertMany,
    Upsert,
    Update,
    UpdateBig,
    UpdateMany,
    UpdateAll,
    Touch,
    MoveKey,
    SwapKeys,
    Rescale,
    Delete,
    DeleteMany,
    Replace,
    Truncate,
    Bulk,
    DeleteBulk,
    Message,
}

const SORTS: &[(u64, Sort)] = &[
    (16, Sort::Insert),
    (10, Sort::InsertMany),
    (10, Sort::Upsert),
    (24, Sort::Update),
    (12, Sort::UpdateBig),
    (8, Sort::UpdateMany),
    (2, Sort::UpdateAll),
    (6, Sort::Touch),
    (16, Sort::MoveKey),
    (8, Sort::SwapKeys),
    (4, Sort::Rescale),
    (14, Sort::Delete),
    (4, Sort::DeleteMany),
    (8, Sort::Replace),
    (2, Sort::Truncate),
    (1, Sort::Bulk),
    (1, Sort::DeleteBulk),
    (3, Sort::Message),
];

/// Statements that belong together, to be run one after another in one transaction or none.
pub fn change(dice: &mut Dice, tables: &[Table], moods: &[String]) -> Vec<String> {
    let table = dice.pick(tables);
    let name = &table.name;
    let number = dice.below(KEYS_MAX);
    let other = dice.below(KEYS_MAX);
    let is = table.is(number);
    match dice.weighted(SORTS) {
        Sort::Insert => vec![insert(dice, table, &[number], moods, "NOTHING")],
        Sort::InsertMany => {
            let first = dice.below(KEYS_MAX - 40);
            let numbers: Vec<_> = (first..first + 2 + dice.below(30)).collect();
            vec![insert(dice, table, &numbers, moods, "NOTHING")]
        }
        Sort::Upsert => {
            let key: Vec<_> = table.key.columns.iter().map(|(name, ..)| *name).collect();
            let mut set = vec!["n = excluded.n".to_owned()];
            set.extend(
                table
                    .columns
                    .iter()
                    .filter(|_| dice.chance(50))
                    .map(|c| format!("{0} = excluded.{0}", c.name)),
            );
            let conflict = format!("({}) DO UPDATE SET {}", key.join(", "), set.join(", "));
            let action = format!("UPDATE {conflict}");
            vec![insert(dice, table, &[number], moods, &action)]
        }
        Sort::Update => {
            vec![format!("UPDATE {name} SET {} WHERE {is}", assignments(dice, table, moods).join(", "))]
        }
        Sort::UpdateBig => vec![format!("UPDATE {name} SET big = {} WHERE {is}", big(dice))],
        Sort::UpdateMany => {
            let set = assignments(dice, table, moods).join(", ");
            vec![format!("UPDATE {name} SET {set} WHERE n % 37 = {}", dice.below(37))]
        }
        Sort::UpdateAll => vec![format!("UPDATE {name} SET n = n + 1 WHERE n < 1000000")],
        // Nothing changes, but a row version is written.
        Sort::Touch => vec![format!("UPDATE {name} SET n = n WHERE {is}")],
        Sort::MoveKey => {
            let also = if dice.chance(40) {
                format!(", {}", assignments(dice, table, moods).join(", "))
            } else {
                String::new()
            };
            // Into another partition, where there is one.
            let to = match &table.layout {
                Layout::Partitioned { attached, .. } => dice.pick(attached) - PARTITION_WIDTH + other,
                Layout::Plain => other,
            };
            vec![move_key(table, number, to, &also)]
        }
        Sort::SwapKeys => {
            let spare = KEYS_MAX + dice.below(1000);
            vec![
                move_key(table, number, spare, ""),
                move_key(table, other, number, ""),
                move_key(table, spare, other, ""),
            ]
        }
        // Another text of the same number.
        Sort::Rescale if table.key.columns[0].0 == "q" => {
            vec![format!("UPDATE {name} SET q = q * 1.0 WHERE {is}")]
        }
        Sort::Rescale | Sort::Delete => vec![format!("DELETE FROM {name} WHERE {is}")],
        Sort::DeleteMany => vec![format!("DELETE FROM {name} WHERE n % 41 = {}", dice.below(41))],
        Sort::Replace => {
            vec![format!("DELETE FROM {name} WHERE {is}"), insert(dice, table, &[number], moods, "NOTHING")]
        }
        Sort::Truncate => {
            let also = if dice.chance(40) { format!(", {}", dice.pick(tables).name) } else { String::new() };
            let mut statements = vec![format!("TRUNCATE {name}{also} CASCADE")];
            if dice.chance(60) {
                statements.push(series(table, 0, KEYS_MAX / 2));
            }
            statements
        }
        Sort::Bulk if table.has_number() => vec![series(table, BULK, BULK + 5_000 + dice.below(25_000))],
        Sort::Bulk => vec![series(table, 0, KEYS_MAX)],
        Sort::DeleteBulk if table.has_number() => {
            vec![format!("DELETE FROM {name} WHERE id >= {BULK} AND id % 10 < {}", 3 + dice.below(8))]
        }
        Sort::DeleteBulk => vec![format!("DELETE FROM {name} WHERE n IS NULL")],
        Sort::Message => {
            vec![format!("SELECT pg_logical_emit_message({}, 'note', 'content {number}')", dice.chance(50))]
        }
    }
}

/// Rows of keys in a row, most with few values.
pub fn series(table: &Table, from: u64, to: u64) -> String {
    let (columns, values) = table.key_values("g");
    format!(
        "INSERT INTO {} ({}, n, note, big) SELECT {}, g % 1000, 'bulk', CASE WHEN g % 11 = 0 THEN repeat(md5(g::text), 80) END \
         FROM generate_series({from}, {}) g ON CONFLICT DO NOTHING",
        table.name,
        columns.join(", "),
        values.join(", "),
        to - 1
    )
}

/// Changes that a load must not miss: rows that are gone, under another key, or without their large value.
pub fn gone_meanwhile(dice: &mut Dice, table: &Table, moods: &[String]) -> Vec<String> {
    let name = &table.name;
    let number = dice.below(KEYS_MAX);
    let is = table.is(number);
    match dice.below(8) {
        0 => vec![format!("DELETE FROM {name} WHERE n % 5 = {}", dice.below(5))],
        1 => vec![format!("UPDATE {name} SET n = n + 1 WHERE n % 3 = {}", dice.below(3))],
        2 => vec![move_key(table, number, KEYS_MAX + dice.below(500), "")],
        3 => vec![format!("DELETE FROM {name} WHERE {is}"), insert(dice, table, &[number], moods, "NOTHING")],
        4 => vec![format!("UPDATE {name} SET n = 1 WHERE {is}"), format!("DELETE FROM {name} WHERE {is}")],
        5 => vec![format!("DELETE FROM {name} WHERE ctid < '(40,0)'")],
        6 => vec![alteration::pack(dice, table)],
        _ => vec![format!("UPDATE {name} SET big = {} WHERE n % 7 = {}", big(dice), dice.below(7))],
    }
}

/// Rows with a value in every column.
pub fn insert(dice: &mut Dice, table: &Table, numbers: &[u64], moods: &[String], conflict: &str) -> String {
    let (mut columns, _) = table.key_values("0");
    columns.extend(["n".to_owned(), "note".to_owned(), "big".to_owned()]);
    columns.extend(table.columns.iter().map(|column| column.name.clone()));
    if table.is_child {
        columns.push("parent".to_owned());
    }
    let rows: Vec<_> = numbers
        .iter()
        .map(|number| {
            let (_, mut values) = table.key_values(&number.to_string());
            values.push(small(dice));
            values.push(format!("'row {number}'"));
            values.push(if dice.chance(30) { big(dice) } else { "NULL".to_owned() });
            values.extend(table.columns.iter().map(|column| column.kind.value(dice, moods)));
            if table.is_child {
                values.push(parent(dice));
            }
            format!("({})", values.join(", "))
        })
        .collect();
    let (name, columns) = (&table.name, columns.join(", "));
    let conflict = match conflict.strip_prefix("UPDATE ") {
        Some(target) => format!("ON CONFLICT {target}"),
        None => format!("ON CONFLICT DO {conflict}"),
    };
    format!("INSERT INTO {name} ({columns}) VALUES {} {conflict}", rows.join(", "))
}

fn assignments(dice: &mut Dice, table: &Table, moods: &[String]) -> Vec<String> {
    let mut set = vec![format!("n = {}", small(dice))];
    for column in &table.columns {
        if dice.chance(30) {
            set.push(format!("{} = {}", column.name, column.kind.value(dice, moods)));
        }
    }
    if dice.chance(10) {
        set.push(format!("big = {}", big(dice)));
    }
    if table.is_child && dice.chance(30) {
        set.push(format!("parent = {}", parent(dice)));
    }
    set
}

/// Moves a row to another key where that is free.
fn move_key(table: &Table, from: u64, to: u64, also: &str) -> String {
    let name = &table.name;
    format!(
        "UPDATE {name} SET {}{also} WHERE {} AND NOT EXISTS (SELECT FROM {name} o WHERE {})",
        table.becomes(to),
        table.is(from),
        table.other_is("o", to)
    )
}

fn small(dice: &mut Dice) -> String {
    if dice.chance(10) { "NULL".to_owned() } else { dice.below(1000).to_string() }
}

fn big(dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => "NULL".to_owned(),
        1 => "''".to_owned(),
        number => format!("repeat(md5('{}'), {})", dice.below(1_000_000), number * 40),
    }
}

fn parent(dice: &mut Dice) -> String {
    format!("(SELECT id FROM t0 WHERE id = {})", dice.below(KEYS_MAX))
}

/// Statements that make room for rows of a new partition, or take a partition away that is empty. The stream has
/// no rows of one that comes or goes with rows, as a change of the tables' layout is none of rows.
pub fn partition(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let name = table.name.clone();
    let Layout::Partitioned { attached, made } = &mut table.layout else { return Vec::new() };
    if attached.len() > 1 && dice.chance(40) {
        let end = attached.pop().expect("two are attached");
        let start = end - PARTITION_WIDTH;
        return vec![
            format!("DELETE FROM {name} WHERE id >= {start} AND id < {end}"),
            format!("ALTER TABLE {name} DETACH PARTITION {name}_{end}"),
            format!("DROP TABLE {name}_{end}"),
        ];
    }
    *made += 1;
    let end = attached.last().copied().unwrap_or(0) + PARTITION_WIDTH;
    let start = end - PARTITION_WIDTH;
    attached.push(end);
    let mut statements = if dice.chance(50) {
        vec![format!("CREATE TABLE {name}_{end} PARTITION OF {name} FOR VALUES FROM ({start}) TO ({end})")]
    } else {
        vec![
            format!("CREATE TABLE {name}_{end} (LIKE {name} INCLUDING ALL)"),
            format!("ALTER TABLE {name} ATTACH PARTITION {name}_{end} FOR VALUES FROM ({start}) TO ({end})"),
        ]
    };
    statements.push(series(table, start, start + 200));
    statements
}
