//! The reference page names what the runtime has, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tarn_plugin_script_lua::{Host, Runtime};

struct Silent;

impl Host for Silent {
    fn log(&mut self, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

/// Sections, and what the runtime calls what they list in the first column of their first table.
const SECTIONS: [(&str, &str); 14] = [
    ("## Entry points", "entry points"),
    ("## Records", "record"),
    ("## What a script returns", "message"),
    ("## Added columns", "tarn"),
    ("## peerdb", "peerdb"),
    ("## json", "json"),
    ("### Options", "options"),
    ("## msgpack", "msgpack"),
    ("## bit32", "bit32"),
    ("## Decimal", "Decimal"),
    ("## BigInt", "BigInt"),
    ("## Integers", "number"),
    ("## Time", "Time"),
    ("## Interval", "Interval"),
];

/// The tables that the section of Lua's libraries lists.
const LIBRARIES: [(&str, &str); 8] = [
    ("_G", "global"),
    ("string", "string"),
    ("table", "table"),
    ("math", "math"),
    ("utf8", "utf8"),
    ("coroutine", "coroutine"),
    ("os", "os"),
    ("debug", "debug"),
];

fn page() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts/REFERENCE.md");
    fs::read_to_string(path).expect("the page is there")
}

/// The rows of a section's first table, without its head, as cells.
fn rows(page: &str, section: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| *line != section).skip(1);
    let section = lines.take_while(|line| !line.starts_with('#'));
    let table = section.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    table.skip(2).map(cells).collect()
}

/// The words in code spans.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// `json.encode(value)`, `r.kind` and `d:round(places)` without what they belong to and are given.
fn name(span: &str) -> String {
    let bare = span.split('(').next().unwrap_or_default();
    bare.rsplit(['.', ':']).next().unwrap_or_default().to_owned()
}

fn vocabulary() -> Vec<(&'static str, Vec<String>)> {
    Runtime::new(Box::new(Silent)).expect("there is memory").vocabulary()
}

fn known(owner: &str) -> BTreeSet<String> {
    let all = vocabulary();
    let (_, names) = all.iter().find(|(known, _)| *known == owner).expect("the runtime has it");
    names.iter().cloned().collect()
}

#[test]
fn every_name_is_described_and_every_described_name_is_there() {
    let page = page();
    for (section, owner) in SECTIONS {
        let described: BTreeSet<String> =
            rows(&page, section).iter().flat_map(|cells| code(&cells[0]).map(name)).collect();
        assert!(!described.is_empty(), "{section} lists nothing");
        assert_eq!(described, known(owner), "{section}");
    }
    let libraries = rows(&page, "## Lua's libraries");
    for (library, owner) in LIBRARIES {
        let row = libraries.iter().find(|cells| code(&cells[0]).next() == Some(library)).expect(library);
        let described: BTreeSet<String> = code(&row[1]).map(str::to_owned).collect();
        assert_eq!(described, known(owner), "{library}");
    }
}

#[test]
fn the_page_covers_all_that_there_is() {
    let covered: BTreeSet<&str> = SECTIONS.iter().chain(&LIBRARIES).map(|(_, owner)| *owner).collect();
    let there: BTreeSet<&str> = vocabulary().iter().map(|(owner, _)| *owner).collect();
    assert_eq!(covered, there);
}

#[test]
fn every_link_within_the_page_leads_somewhere() {
    let page = page();
    let headings: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                text.chars().filter(|character| character.is_alphanumeric() || " -".contains(*character));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect();
    for link in page.split("](#").skip(1) {
        let target = link.split(')').next().unwrap_or_default();
        assert!(headings.contains(target), "no heading #{target}");
    }
}
