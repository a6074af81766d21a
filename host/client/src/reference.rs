//! References of a file to what stands elsewhere: `${env:NAME}` and `${file:PATH}`.
//!
//! `$${` stands for the text `${` itself. A path is relative to the file's folder; of what it names, the
//! last line break is left out.

use std::path::Path;

use serde_json::Value;

use crate::file;

/// Looks a variable of the environment up.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

const BEGIN: &str = "${";
const ESCAPED: &str = "$${";

/// Replaces references, and keeps what is wrong with a file.
pub(crate) struct Resolver<'a> {
    environment: Environment<'a>,
    folder: &'a Path,
    problems: Vec<String>,
}

impl<'a> Resolver<'a> {
    /// A resolver of one file's references.
    pub(crate) fn new(environment: Environment<'a>, folder: &'a Path) -> Self {
        Self { environment, folder, problems: Vec::new() }
    }

    /// The file's folder.
    pub(crate) fn folder(&self) -> &'a Path {
        self.folder
    }

    /// Notes a mistake of the file.
    pub(crate) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Every mistake so far.
    pub(crate) fn into_problems(self) -> Vec<String> {
        self.problems
    }

    /// The value with its references replaced, also those deep within.
    pub(crate) fn resolved(&mut self, at: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.expanded(at, text)),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.resolved(&format!("{at}[{index}]"), item)).collect()
            }
            Value::Object(object) => {
                let entries = object.iter().map(|(key, value)| {
                    let below = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    (key.clone(), self.resolved(&below, value))
                });
                Value::Object(entries.collect())
            }
            other => other.clone(),
        }
    }

    fn expanded(&mut self, at: &str, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            expanded.push_str(&rest[..dollar]);
            rest = &rest[dollar..];
            if let Some(after) = rest.strip_prefix(ESCAPED) {
                expanded.push_str(BEGIN);
                rest = after;
            } else if let Some(inner) = rest.strip_prefix(BEGIN) {
                let Some((reference, after)) = inner.split_once('}') else {
                    self.problem(format!(
                        "{at}: a reference has no closing brace; write $${{ for the text ${{"
                    ));
                    return expanded;
                };
                expanded.push_str(&self.value_of(at, reference));
                rest = after;
            } else {
                expanded.push('$');
                rest = &rest[1..];
            }
        }
        expanded + rest
    }

    fn value_of(&mut self, at: &str, reference: &str) -> String {
        let found = match reference.split_once(':') {
            Some(("env", name)) => (self.environment)(name)
                .ok_or_else(|| format!("{at}: the environment variable {name} is not set")),
            Some(("file", path)) => file::secret(&self.folder.join(path))
                .map(|secret| secret.expose().to_owned())
                .map_err(|error| format!("{at}: {error}")),
            _ => Err(format!(
                "{at}: no such reference; there are ${{env:NAME}} and ${{file:PATH}}, and $${{ stands for the text ${{"
            )),
        };
        found.unwrap_or_else(|problem| {
            self.problem(problem);
            String::new()
        })
    }
}

/// Whether a text holds a reference.
pub(crate) fn has_reference(text: &str) -> bool {
    text.replace(ESCAPED, "").contains(BEGIN)
}

/// The text as it stands in a file, so that nothing in it is taken for a reference.
pub(crate) fn escaped(text: &str) -> String {
    text.replace(BEGIN, ESCAPED)
}

/// The reference to a variable of the environment.
pub(crate) fn to_variable(name: &str) -> String {
    format!("${{env:{name}}}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve(value: &Value) -> (Value, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key"), "from file\n").expect("written");
        let environment = |name: &str| (name == "A").then(|| "from ${env:A} itself".to_owned());
        let mut resolver = Resolver::new(&environment, folder.path());
        let resolved = resolver.resolved("", value);
        (resolved, resolver.into_problems())
    }

    #[test]
    fn references_are_replaced_once_wherever_they_stand() {
        let value = json!({"a": ["x ${env:A} y", {"b": "${file:key}"}], "n": 5});
        let expected = json!({"a": ["x from ${env:A} itself y", {"b": "from file"}], "n": 5});
        assert_eq!(resolve(&value), (expected, Vec::new()));
    }

    #[test]
    fn every_text_can_be_written() {
        for text in ["${env:A}", "$${x}", "$", "$$", "${", "a$b{c}", "$$${"] {
            let (resolved, problems) = resolve(&json!(escaped(text)));
            assert_eq!((resolved, problems.len()), (json!(text), 0), "{text}");
            assert!(!has_reference(&escaped(text)), "{text}");
        }
    }

    #[test]
    fn every_reference_that_leads_nowhere_is_named_with_its_place() {
        let (_, problems) = resolve(&json!({
            "a": "${env:B}", "b": ["${file:gone}"], "c": "${vault:x}", "d": "${env:A", "e": "${x}"}));
        assert_eq!(problems.len(), 5, "{problems:?}");
        for (problem, part) in problems.iter().zip([
            "a: the environment variable B",
            "b[0]: cannot read",
            "c: no such",
            "d: a reference",
            "e: no such",
        ]) {
            assert!(problem.starts_with(part), "{problem}");
        }
    }
}
