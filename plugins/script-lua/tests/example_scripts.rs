//! The scripts of `examples/scripts` do what the cases beside them say (README.md there has the form).

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tarn_plugin_script_lua::{Host, Output, Runtime};
use tarn_trial::{Made, Suite, Verdict};

/// How many examples there are at least.
const EXAMPLES_MIN: usize = 12;

struct Silent;

impl Host for Silent {
    fn log(&mut self, _line: &str) {}

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
    let source = fs::read(folder().join(format!("{name}.lua"))).expect("the script is there");
    let mut runtime = Runtime::new(Box::new(Silent)).expect("there is memory");
    runtime.load(&source).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
    runtime.start(Vec::new(), output);
    runtime
}

#[test]
fn every_example_does_what_its_cases_say() {
    let mut wrong = Vec::new();
    for name in names(".lua") {
        let text = fs::read_to_string(folder().join(format!("{name}_test.json"))).unwrap_or_default();
        let suite = Suite::read(&text).unwrap_or_else(|mistake| panic!("{name}: {mistake}"));
        assert!(suite.cases.len() >= 3, "{name} has too few cases");
        let output = if suite.takes_messages() { Output::Messages } else { Output::Rows };
        for case in &suite.cases {
            // Each on its own, so that no case depends on the one before.
            let given = suite.batch(case).expect("the suite was read");
            let applied = runtime(&name, output).apply(&given).expect("the batch is sound");
            let made = match applied.rejected.first() {
                Some(rejection) => Made::Error(&rejection.message),
                None => Made::Batch(&applied.batch),
            };
            if let Verdict::Failed { expected, became } = suite.judge(case, &given, made).expect("sound") {
                wrong.push(format!("{name}, {}:\n  became   {became}\n  expected {expected}", case.case));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_has_cases_and_a_line_in_the_list() {
    let scripts = names(".lua");
    assert!(scripts.len() >= EXAMPLES_MIN);
    assert_eq!(scripts, names("_test.json"));
    let list = fs::read_to_string(folder().join("README.md")).expect("the list is there");
    for name in scripts {
        assert!(list.contains(&format!("[{name}.lua]({name}.lua)")), "README.md does not name {name}.lua");
    }
}
