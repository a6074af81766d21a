//! The JavaScript scripts of `examples/scripts` do what the cases of those in Lua of the same names say.

#[path = "../../script-lua/tests/example_scripts/case.rs"]
mod case;
#[path = "../../script-lua/tests/example_scripts/cell.rs"]
mod cell;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use case::Suite;
use serde_json::{Value, json};
use tarn_plugin_script_javascript::{Host, Level, Output, Runtime};

/// How many examples there are at least.
const EXAMPLES_MIN: usize = 6;

struct Silent;

impl Host for Silent {
    fn log(&mut self, _level: Level, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts")
}

/// The names of the examples, without their endings.
fn names(ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    entries
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("names are UTF-8"))
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .collect()
}

fn runtime(name: &str, output: Output) -> Runtime {
    let source = fs::read_to_string(folder().join(format!("{name}.js"))).expect("the script is there");
    let mut runtime = Runtime::new(Box::new(Silent)).expect("there is memory");
    runtime.load(&source).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
    runtime.start(Vec::new(), output);
    runtime
}

/// An error without its kind and its place in the line, which Lua does not say.
fn bare(became: Value) -> Value {
    match became.get("error").and_then(Value::as_str) {
        Some(error) => {
            let error = error.trim_start_matches("TypeError: ");
            json!({ "error": error.split(" (in ").next() })
        }
        None => became,
    }
}

#[test]
fn every_example_does_what_its_cases_say() {
    let mut wrong = Vec::new();
    for name in names(".js") {
        let text = fs::read_to_string(folder().join(format!("{name}_test.json"))).unwrap_or_default();
        let suite: Suite = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for case in &suite.cases {
            // Each on its own, so that no case depends on the one before.
            let given = suite.batch(case);
            let applied = runtime(&name, suite.output()).apply(&given).expect("the batch is sound");
            let became = bare(suite.say(&applied, &given));
            let expected = suite.expected(case, &given);
            if became != expected {
                wrong.push(format!("{name}, {}:\n  became   {became}\n  expected {expected}", case.case));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_has_a_sibling_in_lua_and_is_in_the_list() {
    let scripts = names(".js");
    assert!(scripts.len() >= EXAMPLES_MIN);
    assert!(scripts.is_subset(&names(".lua")));
    let list = fs::read_to_string(folder().join("README.md")).expect("the list is there");
    for name in scripts {
        assert!(list.contains(&format!("[{name}.js]({name}.js)")), "README.md does not name {name}.js");
    }
}
