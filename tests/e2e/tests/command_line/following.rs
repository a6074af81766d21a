//! What goes on while it is looked at.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::shell::Shell;

const TABLE: &str = "CREATE TABLE items (id bigint PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 5000) n";

fn shell() -> Shell {
    let shell = Shell::start();
    shell.scene.postgres.query(TABLE);
    shell.create_peers();
    shell
        .tarn(
            "mirror create items --source shop --destination analytics --table public.items --idle-timeout 1",
        )
        .ok();
    shell
}

#[test]
fn a_terminal_shows_a_live_view() {
    let shell = shell();
    let seen = shell.on_terminal("mirror watch items --until running --timeout 90").ok();
    for part in [
        "items  RUNNING  shop → analytics",
        "public.items  [########################]",
        "5,000 rows, done",
        "stream  0 rows",
        "info   created",
    ] {
        assert!(seen.contains(part), "{part} in {seen}");
    }
}

#[test]
fn a_log_is_followed_also_while_the_server_starts_again() {
    let mut shell = shell();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    let mut following = shell
        .command(&["logs", "items", "--follow", "-n", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(following.stdout.take().expect("piped")).lines();
    let mut next = |part: &str| {
        let found = lines.by_ref().map(|line| line.expect("text")).find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("the log ended before {part}"))
    };
    shell.tarn("mirror pause items --wait").ok();
    next("a pause was requested");
    assert!(shell.scene.tarn.stop());
    shell.scene.tarn.start_again();
    shell.tarn("mirror resume items").ok();
    next("a resume was requested");
    following.kill().expect("it follows still");
    following.wait().expect("ended");
}
