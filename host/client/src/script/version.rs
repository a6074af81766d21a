//! Versions of scripts: listed, compared, pinned, taken up again, fetched.

use std::path::Path;

use serde_json::{Value, json};
use similar::TextDiff;
use tarn_model::{Enumerated as _, MirrorEdit, ScriptLanguage, ScriptReference};

use crate::answer::{RolledBack, ScriptVersion, VersionList};
use crate::calls::state_name;
use crate::error::Error;
use crate::http::Client;
use crate::mirror::{Edited, edit};
use crate::output::Report;
use crate::table::{Table, grouped};

/// Lines around a change that a comparison shows.
const CONTEXT_LINES: usize = 3;

/// A script's versions, newest first, and the answer that has them.
pub(super) async fn all(client: &Client, name: &str) -> Result<(Vec<ScriptVersion>, Value), Error> {
    let script = client.script(name).await?;
    let answer = client.get(&format!("scripts/{}/versions", script.id)).await?;
    Ok((client.read::<VersionList>(&answer)?.versions, answer))
}

/// Where a version is in the list.
pub(super) fn place(versions: &[ScriptVersion], name: &str, version: u32) -> Result<usize, Error> {
    versions.iter().position(|known| known.version == version).ok_or_else(|| {
        Error::Failed(format!(
            "script {name} has no version {version}; `tarn script versions {name}` shows which"
        ))
    })
}

pub(super) async fn list(client: &Client, name: &str) -> Result<Report, Error> {
    let (versions, answer) = all(client, name).await?;
    let mut table = Table::new(&[
        "#VERSION",
        "LANGUAGE",
        "#BYTES",
        "TESTS",
        "CREATED",
        "BY",
        "ROLLED BACK FROM",
        "DIGEST",
    ]);
    for version in versions {
        table.row([
            version.version.to_string(),
            version.lang,
            grouped(version.source.len() as u64),
            if version.tests.is_empty() { "none" } else { "passed" }.to_owned(),
            version.created_at.split('.').next().unwrap_or_default().trim_end_matches('Z').to_owned(),
            version.created_by,
            if version.rolled_back_from == 0 { String::new() } else { version.rolled_back_from.to_string() },
            version.digest.chars().take(12).collect(),
        ]);
    }
    Ok(Report::new(table.render(), answer))
}

pub(super) async fn diff(client: &Client, name: &str, from: u32, to: u32) -> Result<Report, Error> {
    let (versions, _) = all(client, name).await?;
    let (old, new) = (&versions[place(&versions, name, from)?], &versions[place(&versions, name, to)?]);
    let label = |version: &ScriptVersion, part: &str| format!("{name}@{} {part}", version.version);
    let source = if [old, new].iter().any(|version| version.lang == ScriptLanguage::Wasm.name()) {
        // Base64 of components tells nobody anything.
        match old.digest == new.digest {
            true => String::new(),
            false => format!("components differ: {} and {}\n", old.digest, new.digest),
        }
    } else {
        unified(&old.source, &new.source, &label(old, "code"), &label(new, "code"))
    };
    let tests = unified(&old.tests, &new.tests, &label(old, "tests"), &label(new, "tests"));
    let answer = json!({"name": name, "from": from, "to": to, "source": source, "tests": tests});
    let people = match source.is_empty() && tests.is_empty() {
        true => format!("versions {from} and {to} of script {name} are the same"),
        false => source + &tests,
    };
    Ok(Report::new(people, answer))
}

/// The lines that differ, with those around them; empty where none does.
fn unified(old: &str, new: &str, old_label: &str, new_label: &str) -> String {
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(old_label, new_label)
        .to_string()
}

pub(super) async fn pin(client: &Client, mirror: &str, script: &str) -> Result<Report, Error> {
    let reference = ScriptReference::parse(script).filter(|reference| !reference.name.is_empty());
    let reference =
        reference.ok_or_else(|| Error::Usage(format!("{script} is neither name nor name@version")))?;
    let stored = client.mirror_status(mirror).await?.cdc_status.config.script;
    let change = MirrorEdit { script: pinned(&stored, &reference.name, script), ..MirrorEdit::default() };
    let Edited { state, was_paused } = edit(client, mirror, &change).await?;
    let what = match reference.version {
        Some(version) => format!("version {version} of script {}", reference.name),
        None => format!("script {} at its newest version", reference.name),
    };
    let rest = if was_paused { " again" } else { "" };
    let sentence = format!("mirror {mirror} uses {what}, and is {}{rest}", state_name(state));
    Ok(Report::new(sentence, json!({"mirror": mirror, "script": script, "state": state.name()})))
}

/// The scripts of a mirror with one of them at another version, the others as they are; a mirror that does not
/// use the script uses it alone from then on.
fn pinned(stored: &str, name: &str, script: &str) -> String {
    let names = |entry: &str| ScriptReference::parse(entry).is_some_and(|reference| reference.name == name);
    let entries: Vec<&str> = stored.split(',').map(str::trim).collect();
    if !entries.iter().any(|entry| names(entry)) {
        return script.to_owned();
    }
    let replaced = entries.into_iter().map(|entry| if names(entry) { script } else { entry });
    replaced.collect::<Vec<_>>().join(",")
}

pub(super) async fn roll_back(client: &Client, name: &str, version: Option<u32>) -> Result<Report, Error> {
    let script = client.script(name).await?;
    let version = match version {
        Some(version) => version,
        None => {
            let (versions, _) = all(client, name).await?;
            let before = versions.get(1).map(|version| version.version);
            before.ok_or_else(|| Error::Failed(format!("script {name} has one version only")))?
        }
    };
    let answer = client.post("scripts/rollback", &json!({"id": script.id, "version": version})).await?;
    let done: RolledBack = client.read(&answer)?;
    let sentence = format!(
        "stored version {} of script {name}, which is version {} again",
        done.version, done.rolled_back_from
    );
    Ok(Report::new(sentence, answer))
}

pub(super) async fn component(client: &Client, text: &str, output: &Path) -> Result<Report, Error> {
    let reference = ScriptReference::parse(text)
        .ok_or_else(|| Error::Usage(format!("{text} is neither name nor name@version")))?;
    let script = client.script(&reference.name).await?;
    let mut path = format!("scripts/{}/component", script.id);
    if let Some(version) = reference.version {
        path.push_str(&format!("?version={version}"));
    }
    let (bytes, digest) = client.get_bytes(&path).await?;
    write(output, &bytes)?;
    let sentence =
        format!("wrote {}: {} bytes, SHA-256 {digest}", output.display(), grouped(bytes.len() as u64));
    let answer = json!({"file": output.display().to_string(), "bytes": bytes.len(), "digest": digest});
    Ok(Report::new(sentence, answer))
}

/// Writes a file whole.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|source| {
        let path = path.display().to_string();
        Error::Written { path, source }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_changes_the_version_of_one_script_and_leaves_the_others() {
        for (stored, script, expected) in [
            ("", "mask@2", "mask@2"),
            ("mask", "mask@2", "mask@2"),
            ("mask@2", "mask", "mask"),
            ("other", "mask@1", "mask@1"),
            ("trim, mask@1,mask_all", "mask@2", "trim,mask@2,mask_all"),
        ] {
            assert_eq!(pinned(stored, "mask", script), expected, "{stored}");
        }
    }

    #[test]
    fn a_comparison_shows_lines_that_differ_and_nothing_where_none_does() {
        let shown = unified("a\nb\nc\n", "a\nB\nc\n", "mask@1 code", "mask@2 code");
        assert_eq!(shown, "--- mask@1 code\n+++ mask@2 code\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(unified("a\n", "a\n", "x", "y"), "");
    }
}
