//! The operator's page: what of it follows from the code is written by the code, between marks, so that the
//! page never says something else than the server does.

use std::fmt::Write as _;

use tarn_model::{Allowance, Edition, Enumerated as _, StagingBucket};

use crate::settings::{Preset, SETTINGS};

/// A part of the page.
struct Part {
    /// What its marks are called.
    name: &'static str,
    write: fn() -> String,
}

const PARTS: [Part; 2] =
    [Part { name: "editions", write: editions }, Part { name: "settings", write: settings }];

/// The page with its parts written anew.
///
/// # Errors
/// Which mark is missing.
pub fn written(page: &str) -> Result<String, String> {
    let mut page = page.to_owned();
    for Part { name, write } in PARTS {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n"));
        let missing = |mark: &str| format!("the page has no line {}", mark.trim_end());
        let start = page.find(&begin).ok_or_else(|| missing(&begin))? + begin.len();
        let length = page[start..].find(&end).ok_or_else(|| missing(&end))?;
        page.replace_range(start..start + length, &write());
    }
    Ok(page)
}

fn editions() -> String {
    let mut text = String::from(
        "| edition | scripts | a script's batch | a record of it | its memory | its output | its log | dead letters | staging bucket |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (edition, _, name) in Edition::ALL {
        let allowance = Allowance::new(*edition, None);
        let scripts = if allowance.scripts() { "on" } else { "off" };
        let bucket = match allowance.staging_bucket() {
            StagingBucket::Peer => "the one that a peer names",
            StagingBucket::Service => "the service's own; a peer's bucket fields are ignored",
        };
        let limits = allowance.script_limits();
        let _fits = writeln!(
            text,
            "| `{name}` | {scripts} | {} ms | {} ms | {} MiB | {} MiB | {} lines | {} MiB | {bucket} |",
            limits.batch_ms,
            limits.record_ms,
            limits.memory_mib,
            limits.output_mib,
            limits.log_lines,
            allowance.dead_letter_bytes_max() >> 20
        );
    }
    text
}

fn settings() -> String {
    let mut text = String::from(
        "| in the file | in the environment | value | default | meaning |\n|---|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        let default = match setting.default {
            Preset::Value(value) => format!("`{value}`"),
            Preset::Otherwise(what) => what.to_owned(),
        };
        let (name, variable) = (setting.name, setting.variable());
        let (form, meaning) = (setting.form, setting.meaning);
        let _fits = writeln!(text, "| `{name}` | `{variable}` | {form} | {default} | {meaning} |");
    }
    text
}

/// Every setting as the terminal shows it.
pub fn settings_for_people() -> String {
    let mut text = String::new();
    for setting in SETTINGS {
        let default = match setting.default {
            Preset::Value(text) | Preset::Otherwise(text) => text,
        };
        let (name, variable) = (setting.name, setting.variable());
        let _fits = writeln!(text, "{name}, {variable}\n    {}", setting.meaning);
        let _fits = writeln!(text, "    {}; by default {default}", setting.form);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../OPERATING.md");

    #[test]
    fn the_operators_page_says_what_the_server_does() {
        let expected = written(PAGE).expect("the page has its marks");
        assert!(
            PAGE == expected,
            "OPERATING.md is not what the code says; write it anew with `tarn settings --write host/server/OPERATING.md`"
        );
    }

    #[test]
    fn a_page_without_its_marks_is_left_alone() {
        let missing = written("# A page\n").expect_err("no marks");
        assert!(missing.contains("<!-- editions: begin -->"), "{missing}");
    }
}
