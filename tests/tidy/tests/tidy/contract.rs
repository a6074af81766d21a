//! The contract of the plugins: which lines there are, and which worlds a line has.

use std::collections::BTreeMap;
use std::fs;

use tarn_tidy::{root, sources};

/// A world's imports and exports, in the order they are written.
type World = (Vec<String>, Vec<String>);

/// The lines of the contract, by their folders.
const LINES: [&str; 1] = ["v0.1"];

fn world(imports: &[&str], exports: &[&str]) -> World {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    (owned(imports), owned(exports))
}

/// The worlds of a line, read from its text: one `import`, `export` or `world` a line.
fn worlds(line: &str) -> BTreeMap<String, World> {
    let mut worlds = BTreeMap::new();
    let mut current = None;
    let text =
        fs::read_to_string(root().join("wit").join(line).join("worlds.wit")).expect("a line has worlds");
    for words in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        match words[..] {
            ["world", name, "{"] => {
                current = Some(name.to_owned());
                worlds.insert(name.to_owned(), World::default());
            }
            [kind @ ("import" | "export"), name] => {
                let world = current.as_ref().and_then(|name| worlds.get_mut(name)).expect("it is in a world");
                let names = if kind == "import" { &mut world.0 } else { &mut world.1 };
                names.push(name.trim_end_matches(';').to_owned());
            }
            _ => {}
        }
    }
    worlds
}

#[test]
fn the_contract_has_the_lines_it_is_known_for() {
    let mut lines: Vec<String> = fs::read_dir(root().join("wit"))
        .expect("the contract is there")
        .map(|entry| entry.expect("the contract is readable").path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    lines.sort();
    assert_eq!(lines, LINES);
}

#[test]
fn line_0_1_has_nine_worlds_and_no_capability_more() {
    let stores = ["log", "clock", "postgres", "clickhouse"];
    let targets = ["log", "clock", "postgres", "clickhouse", "kafka"];
    let expected = BTreeMap::from([
        // What a source cannot hold it may put aside.
        (
            "source-plugin".to_owned(),
            world(&["log", "clock", "postgres", "clickhouse", "spool"], &["source"]),
        ),
        ("destination-plugin".to_owned(), world(&targets, &["destination"])),
        ("parts-plugin".to_owned(), world(&targets, &["parts"])),
        ("preview-plugin".to_owned(), world(&targets, &["preview"])),
        ("inspection-plugin".to_owned(), world(&stores, &["inspection"])),
        ("lookup-plugin".to_owned(), world(&stores, &["lookup"])),
        ("comparison-plugin".to_owned(), world(&stores, &["comparison"])),
        ("replacement-plugin".to_owned(), world(&stores, &["replacement"])),
        // A script sees no store.
        ("script-plugin".to_owned(), world(&["log", "clock"], &["script"])),
    ]);
    assert_eq!(worlds("v0.1"), expected);
}

#[test]
fn every_file_of_a_line_is_of_its_version() {
    for source in sources("wit") {
        let line = source.path.iter().nth(1).unwrap_or_default().to_string_lossy().into_owned();
        let package = source.text.lines().next().unwrap_or_default();
        let expected = format!("package tarn:plugin@{}.", line.trim_start_matches('v'));
        assert!(package.starts_with(&expected), "{}: {package}", source.path.display());
    }
}

#[test]
fn every_capability_and_interface_is_documented() {
    let readme = fs::read_to_string(root().join("wit/README.md")).expect("the contract has a README");
    for (name, (imports, exports)) in worlds("v0.1") {
        for word in imports.iter().chain(&exports).chain([&name]) {
            assert!(readme.contains(&format!("`{word}`")), "wit/README.md says nothing of {word}");
        }
    }
}
