//! A plan as people read it, and as programs do.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Change, MirrorStep, PeerStep, Plan, ScriptStep};

/// A step without what it works with.
struct Line<'a> {
    sign: char,
    kind: &'static str,
    name: &'a str,
    changes: &'a [Change],
}

impl Plan {
    fn lines(&self) -> Vec<Line<'_>> {
        let peers = self.peers.iter().map(|step| {
            let (sign, name, changes): (_, &str, &[Change]) = match step {
                PeerStep::Create(peer) => ('+', &peer.name, &[]),
                PeerStep::Update { peer, changes } => ('~', &peer.name, changes),
                PeerStep::Unchanged(name) => (' ', name, &[]),
                PeerStep::Drop(name) => ('-', name, &[]),
            };
            Line { sign, kind: "peer", name, changes }
        });
        let scripts = self.scripts.iter().map(|step| {
            let (sign, name) = match step {
                ScriptStep::Create(script) => ('+', &script.name),
                ScriptStep::Update { script, .. } => ('~', &script.name),
                ScriptStep::Unchanged(name) => (' ', name),
                ScriptStep::Drop { name, .. } => ('-', name),
            };
            Line { sign, kind: "script", name, changes: &[] }
        });
        let mirrors = self.mirrors.iter().map(|step| {
            let (sign, name, changes): (_, &str, &[Change]) = match step {
                MirrorStep::Create(spec) => ('+', &spec.name, &[]),
                MirrorStep::Edit { name, changes, .. } => ('~', name, changes),
                MirrorStep::Unchanged(name) => (' ', name, &[]),
                MirrorStep::Stuck { name, changes } => ('!', name, changes),
                MirrorStep::Drop(name) => ('-', name, &[]),
            };
            Line { sign, kind: "mirror", name, changes }
        });
        peers.chain(scripts).chain(mirrors).collect()
    }

    /// One line a step, what changes below it, and the sum.
    pub(crate) fn for_people(&self) -> String {
        let mut text = String::new();
        for Line { sign, kind, name, changes } in self.lines() {
            let remark = match (sign, kind) {
                (' ', _) => ": unchanged",
                ('~', "script") => ": a new version",
                ('~', "mirror") => ": pause, edit, resume",
                ('!', _) => ": cannot be changed in place",
                _ => "",
            };
            let _fits = writeln!(text, "{sign} {kind} {name}{remark}");
            for change in changes {
                let _fits = writeln!(text, "    {}", change_line(change));
            }
            if sign == '!' {
                let _fits = writeln!(text, "    drop it and apply again: tarn mirror drop {name}");
            }
        }
        let tally = self.tally();
        let mut sum = format!(
            "{} to create, {} to change, {} to drop, {} unchanged",
            tally.create, tally.change, tally.drop, tally.unchanged
        );
        if tally.stuck > 0 {
            let _fits = write!(sum, ", {} that cannot be changed", tally.stuck);
        }
        text + &sum + "\n"
    }

    /// The steps as a list.
    pub(crate) fn for_programs(&self) -> Value {
        let steps = self.lines().into_iter().map(|Line { sign, kind, name, changes }| {
            let action = match sign {
                '+' => "create",
                '~' => "change",
                '-' => "drop",
                '!' => "stuck",
                _ => "unchanged",
            };
            let changes: Vec<_> = changes
                .iter()
                .map(|change| json!({"field": change.field, "stored": change.stored, "given": change.given}))
                .collect();
            json!({"action": action, "kind": kind, "name": name, "changes": changes})
        });
        steps.collect()
    }
}

fn change_line(Change { field, stored, given }: &Change) -> String {
    match (field.as_str(), stored.as_str(), given.as_str()) {
        ("", "", table) => format!("+ table {table}"),
        ("", table, _) => format!("- table {table}"),
        // Both are masks, and yet they differ.
        (field, stored, given) if stored == given => format!("{field}: another secret"),
        (field, stored, given) => format!("{field}: {} → {}", quoted(stored), quoted(given)),
    }
}

/// A value that fits a line: nothing in quotes, a long text by its length.
fn quoted(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match text.chars().count() {
        0 => "\"\"".to_owned(),
        count if count > CHARACTERS_MAX || text.contains('\n') => format!("({count} characters)"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tarn_model::{MirrorEdit, MirrorSpec, Peer, PeerConfig, PostgresConfig, ScriptLanguage};

    use super::*;
    use crate::setup::ScriptText;

    fn change(field: &str, stored: &str, given: &str) -> Change {
        Change { field: field.into(), stored: stored.into(), given: given.into() }
    }

    fn peer(name: &str) -> Peer {
        Peer { name: name.into(), config: PeerConfig::Postgres(PostgresConfig::default()) }
    }

    fn script(name: &str) -> ScriptText {
        ScriptText { name: name.into(), language: ScriptLanguage::Lua, source: String::new(), tests: None }
    }

    fn plan() -> Plan {
        Plan {
            peers: vec![
                PeerStep::Create(peer("fresh")),
                PeerStep::Update {
                    peer: peer("shop"),
                    changes: vec![
                        change("postgres_config.host", "db1", "db2"),
                        change("postgres_config.password", "********", "********"),
                        change("postgres_config.root_ca", "", &"PEM\n".repeat(20)),
                    ],
                },
                PeerStep::Drop("gone".into()),
            ],
            scripts: vec![
                ScriptStep::Unchanged("mask".into()),
                ScriptStep::Update { id: 2, script: script("trim") },
            ],
            mirrors: vec![
                MirrorStep::Create(Box::new(MirrorSpec { name: "new".into(), ..MirrorSpec::default() })),
                MirrorStep::Edit {
                    name: "orders".into(),
                    edit: Box::new(MirrorEdit::default()),
                    changes: vec![
                        change("max_batch_size", "250000", "1000"),
                        change("", "", "public.items → items"),
                        change("", "public.old → old", ""),
                    ],
                },
                MirrorStep::Stuck { name: "audit".into(), changes: vec![change("script", "", "mask")] },
                MirrorStep::Drop("former".into()),
            ],
        }
    }

    #[test]
    fn a_plan_says_what_comes_goes_changes_and_cannot_change() {
        let expected = "\
+ peer fresh
~ peer shop
    postgres_config.host: db1 → db2
    postgres_config.password: another secret
    postgres_config.root_ca: \"\" → (80 characters)
- peer gone
  script mask: unchanged
~ script trim: a new version
+ mirror new
~ mirror orders: pause, edit, resume
    max_batch_size: 250000 → 1000
    + table public.items → items
    - table public.old → old
! mirror audit: cannot be changed in place
    script: \"\" → mask
    drop it and apply again: tarn mirror drop audit
- mirror former
2 to create, 3 to change, 2 to drop, 1 unchanged, 1 that cannot be changed
";
        assert_eq!(plan().for_people(), expected);
    }

    #[test]
    fn a_program_reads_the_same_steps() {
        let steps = plan().for_programs();
        assert_eq!(steps.as_array().map(Vec::len), Some(9));
        assert_eq!(steps[0], json!({"action": "create", "kind": "peer", "name": "fresh", "changes": []}));
        assert_eq!(steps[7]["action"], "stuck");
    }
}
