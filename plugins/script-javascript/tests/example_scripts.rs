//! The JavaScript scripts of `examples/scripts` do what the cases of those in Lua of the same names say.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tarn_plugin_script_javascript::{Host, Level, Output, Runtime};
use tarn_trial::{Made, Suite, Verdict};

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

#[test]
fn every_example_does_what_its_cases_say() {
    let mut wrong = Vec::new();
    for name in names(".js") {
        let text = fs::read_to_string(folder().join(format!("{name}_test.json"))).unwrap_or_default();
        let suite = Suite::read(&text).unwrap_or_else(|mistake| panic!("{name}: {mistake}"));
        let output = if suite.takes_messages() { Output::Messages } else { Output::Rows };
        for case in &suite.cases {
            // Each on its own, so that no case depends on the one before.
            let given = suite.batch(case).expect("the suite was read");
            let applied = runtime(&name, output).apply(&given).expect("the batch is sound");
            // As the host sees it: the place is beside the message.
            let message =
                applied.rejected.first().map(|one| one.message.split(" (in ").next().unwrap_or_default());
            let made = message.map_or(Made::Batch(&applied.batch), Made::Error);
            if let Verdict::Failed { expected, became } = suite.judge(case, &given, made).expect("sound") {
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
