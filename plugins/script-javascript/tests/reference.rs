//! The reference page and the types for editors name what the runtime has, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use tarn_plugin_script_javascript::{Host, Level, Runtime};

struct Silent;

impl Host for Silent {
    fn log(&mut self, _level: Level, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

/// Sections of the page, which of their tables, and what the runtime calls what is listed in its first column.
const SECTIONS: [(&str, usize, &str); 13] = [
    ("## Entry points", 0, "entry points"),
    ("## Records", 0, "record"),
    ("## What a script returns", 0, "message"),
    ("## tarn", 0, "tarn"),
    ("## Decimal", 0, "Decimal"),
    ("## Decimal", 1, "Decimal."),
    ("## Time", 0, "Time"),
    ("## Time", 1, "Time."),
    ("## Interval", 0, "Interval"),
    ("## json", 0, "json"),
    ("### Options", 0, "options"),
    ("## msgpack", 0, "msgpack"),
    ("## console", 0, "console"),
];

/// Interfaces of the types, and what the runtime calls what they have.
const INTERFACES: [(&str, &str); 13] = [
    ("TarnRecord", "record"),
    ("TarnMessage", "message"),
    ("TarnDecimal", "Decimal"),
    ("TarnDecimalClass", "Decimal."),
    ("TarnTime", "Time"),
    ("TarnTimeClass", "Time."),
    ("TarnInterval", "Interval"),
    ("TarnIntervalClass", "Interval."),
    ("TarnJsonOptions", "options"),
    ("TarnJson", "json"),
    ("TarnMsgpack", "msgpack"),
    ("Tarn", "tarn"),
    ("TarnConsole", "console"),
];

fn file(path: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the file is there")
}

fn vocabulary() -> BTreeMap<String, BTreeSet<String>> {
    let runtime = Runtime::new(Box::new(Silent)).expect("there is memory");
    runtime.vocabulary().into_iter().map(|(owner, names)| (owner, names.into_iter().collect())).collect()
}

/// The rows of a section's tables, without their heads, as cells.
fn tables(page: &str, section: &str) -> Vec<Vec<Vec<String>>> {
    let lines = page.lines().skip_while(|line| *line != section).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
    let tables = lines.split(|line| !line.starts_with('|')).filter(|table| !table.is_empty());
    let cells =
        |line: &&str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    tables.map(|table| table.iter().skip(2).map(cells).collect()).collect()
}

/// `json.encode(value)` and `r.kind` without what they belong to and are given, of all code spans of a cell.
fn named(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(|span| {
        let bare = span.split('(').next().unwrap_or_default();
        bare.rsplit('.').next().unwrap_or_default().to_owned()
    })
}

#[test]
fn the_page_names_what_there_is_and_nothing_else() {
    let page = file("../../examples/scripts/JAVASCRIPT.md");
    let there = vocabulary();
    for (section, table, owner) in SECTIONS {
        let tables = tables(&page, section);
        let described: BTreeSet<String> = tables[table].iter().flat_map(|cells| named(&cells[0])).collect();
        assert_eq!(described, there[owner], "{section}");
    }
    let covered: BTreeSet<&str> = SECTIONS.iter().map(|(.., owner)| *owner).collect();
    let missing: Vec<_> =
        there.iter().filter(|(owner, names)| !covered.contains(&***owner) && !names.is_empty()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The names that an interface has.
fn members(types: &str, interface: &str) -> BTreeSet<String> {
    let head = format!("interface {interface} {{");
    let lines = types.lines().skip_while(|line| *line != head).skip(1).take_while(|line| *line != "}");
    lines
        .map(|line| line.trim().trim_start_matches("readonly "))
        .filter_map(|line| {
            let end = line.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
            let (name, rest) = line.split_at(end);
            let is_member = rest.starts_with(['(', ':', '?']) && !name.is_empty();
            is_member.then(|| name.to_owned())
        })
        .collect()
}

#[test]
fn the_types_name_what_there_is_and_nothing_else() {
    let types = file("tarn.d.ts");
    let there = vocabulary();
    for (interface, owner) in INTERFACES {
        assert_eq!(members(&types, interface), there[owner], "{interface}");
    }
    let covered: BTreeSet<&str> = INTERFACES.iter().map(|(_, owner)| *owner).collect();
    let missing: Vec<_> =
        there.keys().filter(|owner| !covered.contains(&***owner) && **owner != "entry points").collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_link_within_the_page_leads_somewhere() {
    let page = file("../../examples/scripts/JAVASCRIPT.md");
    let headings: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"))
        .collect();
    for link in page.split("](#").skip(1) {
        let target = link.split(')').next().unwrap_or_default();
        assert!(headings.contains(target), "no heading #{target}");
    }
}
