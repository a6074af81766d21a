use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use tarn_harness::until;

use crate::shell::Shell;

#[test]
fn a_password_that_no_option_gives_is_asked_for_on_a_terminal() {
    let shell = Shell::start();
    let postgres = &shell.scene.postgres;
    let line = format!(
        "peer create postgres shop --host {} --port {} --user {} --database {}",
        postgres.host(),
        postgres.port(),
        postgres.user(),
        postgres.database()
    );
    let mut terminal = shell
        .terminal(&line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` makes a terminal");
    let mut output = terminal.stdout.take().expect("piped");
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(b": ") {
        assert_eq!(output.read(&mut byte).expect("it asks"), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    assert!(String::from_utf8_lossy(&seen).contains(&format!("Password of {}@", postgres.user())));
    // What is typed before the terminal is quiet is seen, and discarded.
    until("the terminal shows nothing that is typed", || {
        let name = std::fs::read_to_string(shell.path("terminal")).ok()?;
        let settings = Command::new("stty").args(["-a", "-F", name.trim()]).output().ok()?;
        String::from_utf8_lossy(&settings.stdout).contains("-echo ").then_some(())
    });
    let typed = format!("{}\n", postgres.password());
    terminal.stdin.take().expect("piped").write_all(typed.as_bytes()).expect("it reads");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert!(terminal.wait().expect("ended").success(), "{rest}");
    assert!(rest.contains("stored peer shop") && !rest.contains(postgres.password()), "{rest}");
}
