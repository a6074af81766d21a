use tarn_e2e::Certificate;
use tarn_harness::{Tarn, until};

use crate::shell::Shell;

#[test]
fn everything_is_done_over_https_and_no_other_server_is_trusted() {
    let certificate = Certificate::of("localhost");
    let environment = certificate.environment();
    let tarn = Tarn::launch(&environment.each_ref().map(|(name, value)| (*name, value.as_str())));
    let mut shell = Shell::of(tarn);
    let port = shell.scene.tarn.port();
    shell.set("TARN_ADDRESS", &format!("https://localhost:{port}"));
    shell.set("TARN_CA_FILE", &certificate.file().display().to_string());
    until("tarn serves", || (shell.tarn("info").code == 0).then_some(()));

    shell.scene.postgres.query(
        "CREATE TABLE items (id bigint PRIMARY KEY, name text);
         INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 1000) n",
    );
    shell.write("mask.lua", "function onRecord(r)\n  r.row.name = '***'\n  return r.row\nend\n");
    let table = "    table_mappings:\n      - {source_table_identifier: public.items, destination_table_identifier: items}\n";
    shell.write("setup.yaml", &shell.setup(table));
    shell.tarn("apply -f setup.yaml").ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    shell.scene.wait_for_target("SELECT concat(toString(count()), min(name)) FROM items FINAL", "1000***");
    shell.tarn("mirror drop items --wait").ok();

    // Another authority, a name that is not in the certificate, and no TLS at all: each with its remedy.
    let other = Certificate::of("localhost");
    let other = other.file().display().to_string();
    for (words, part) in [
        (vec!["info", "--ca-file", &other], "--ca-file"),
        (vec!["info", "--address", &format!("https://127.0.0.1:{port}")], "127.0.0.1"),
        (vec!["info", "--address", &format!("http://localhost:{port}")], "https://"),
    ] {
        let refused = shell.tarn_words(&words);
        assert_eq!(refused.code, 3, "{words:?}: {}{}", refused.out, refused.err);
        assert!(refused.err.contains(part), "{part} in {}", refused.err);
    }
}
