//! The test programs as Cargo builds them.

use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A test program.
#[derive(Debug)]
pub(crate) struct Program {
    /// As Cargo calls it: the name of the file of tests, or of the library or binary whose unit tests it has.
    pub(crate) name: String,
    /// Its source.
    pub(crate) path: String,
    /// The folder of its package.
    pub(crate) package: PathBuf,
    pub(crate) executable: PathBuf,
}

impl Program {
    /// Of a line that Cargo writes of what it has built; nothing of one about anything else.
    fn of_line(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            executable: text(&message["executable"]).filter(|_| is_test)?.into(),
            name: text(&message["target"]["name"])?,
            path: text(&message["target"]["src_path"])?,
            package: PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned(),
        })
    }
}

/// Builds all of them.
///
/// # Errors
/// Cargo is not there, or the build failed, which it has said why.
pub(crate) fn programs() -> io::Result<Vec<Program>> {
    let mut cargo = Command::new("cargo")
        .args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"])
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(cargo.stdout.take().expect("it is piped")).lines();
    let programs = lines
        .filter_map(|line| line.map(|line| Program::of_line(&line)).transpose())
        .collect::<io::Result<Vec<_>>>()?;
    if !cargo.wait()?.success() {
        return Err(io::Error::other("they are not built"));
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_tests_and_nothing_else() {
        let line = |test: bool, executable: &str| {
            format!(
                r#"{{"reason": "compiler-artifact", "manifest_path": "/w/a/Cargo.toml", "executable": {executable},
                    "target": {{"name": "api", "src_path": "/w/a/tests/api.rs"}}, "profile": {{"test": {test}}}}}"#
            )
        };
        let program = Program::of_line(&line(true, r#""/w/target/api-1""#)).expect("a program");
        assert_eq!((program.name.as_str(), program.path.as_str()), ("api", "/w/a/tests/api.rs"));
        assert_eq!((program.package, program.executable), ("/w/a".into(), "/w/target/api-1".into()));
        for other in [line(false, r#""/w/target/api""#), line(true, "null"), "warning".to_owned()] {
            assert!(Program::of_line(&other).is_none(), "{other}");
        }
    }
}
