use std::io::Write as _;
use std::process::Command;

use tarn_harness::Tarn;

/// What bash offers after the words, the last of which is begun.
fn offered(script: &str, words: &[&str]) -> String {
    let line = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={}; _tarn tarn '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2]
    );
    // By a file: it is longer than an argument may be.
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(line.as_bytes()).expect("written");
    let output = Command::new("bash").arg(file.path()).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_shell_completes_commands_and_options() {
    let tarn = Tarn::start();
    let script = |shell: &str| {
        let output = tarn.command(&["completions", shell]).output().expect("the binary runs");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("text")
    };
    let bash = script("bash");
    assert_eq!(offered(&bash, &["tarn", "mir"]), "mirror\n");
    assert_eq!(offered(&bash, &["tarn", "mirror", "wat"]), "watch\n");
    assert_eq!(offered(&bash, &["tarn", "mirror", "watch", "--unt"]), "--until\n");
    for shell in ["zsh", "fish"] {
        let script = script(shell);
        assert!(script.contains("resync") && script.contains("dry-run"), "{shell}");
    }
}
