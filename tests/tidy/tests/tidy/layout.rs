//! What is at the top: a short list that a newcomer reads first.

use std::collections::BTreeSet;

use tarn_tidy::files;

use crate::assert_none;

/// The folders.
const FOLDERS: [&str; 7] = [".ci", "examples", "host", "plugins", "sdk", "tests", "wit"];

/// The files; of those whose names begin with a dot, tools' settings all, any may be there.
const FILES: [&str; 10] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "NOTICE",
    "README.md",
    "clippy.toml",
    "rustfmt.toml",
];

#[test]
fn the_top_holds_what_it_is_known_for_and_nothing_else() {
    let files = files();
    let entries: BTreeSet<(String, bool)> = files
        .iter()
        .map(|path| {
            let mut parts = path.iter().map(|part| part.to_string_lossy().into_owned());
            let first = parts.next().unwrap_or_default();
            (first, parts.next().is_some())
        })
        .collect();
    let strange = |(name, is_folder): &(String, bool)| match is_folder {
        true => !FOLDERS.contains(&name.as_str()),
        false => !FILES.contains(&name.as_str()) && !name.starts_with('.'),
    };
    let mut broken: Vec<String> =
        entries.iter().filter(|entry| strange(entry)).map(|(name, _)| format!("{name} is new")).collect();
    for (known, is_folder) in
        FOLDERS.map(|name| (name, true)).into_iter().chain(FILES.map(|name| (name, false)))
    {
        if !entries.contains(&(known.to_owned(), is_folder)) {
            broken.push(format!("{known} is gone"));
        }
    }
    assert_none("the top of the repository is the list in tests/tidy/tests/tidy/layout.rs", &broken);
}
