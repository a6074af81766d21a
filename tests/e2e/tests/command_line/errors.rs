use crate::shell::Shell;

#[test]
fn every_kind_of_failure_has_its_exit_code_and_a_remedy() {
    let mut shell = Shell::start();
    let postgres = &shell.scene.postgres;
    let (host, port, user) = (postgres.host().to_owned(), postgres.port(), postgres.user().to_owned());

    // 1: refused or failed.
    for (line, parts) in [
        ("peer drop nobody", vec!["there is no peer nobody"]),
        ("peer describe nobody", vec!["there is no peer nobody"]),
        ("mirror pause nobody", vec!["there is no mirror nobody"]),
        ("script show nobody", vec!["there is no script nobody", "tarn script list"]),
        (
            "mirror create Bad --source a --destination b --table public.t",
            vec!["there are no such peers", "source_name: there is no peer a", "destination_name"],
        ),
    ] {
        let ended = shell.tarn(line);
        assert_eq!((ended.code, ended.out.as_str()), (1, ""), "{line}: {}", ended.err);
        for part in parts {
            assert!(ended.err.contains(part), "{part} in {}", ended.err);
        }
    }
    shell.set("WRONG_PASSWORD", "planted-wrong-password");
    let line = format!(
        "peer create postgres shop --host {host} --port {port} --user {user} --database postgres --password-env WRONG_PASSWORD"
    );
    let ended = shell.tarn(&line);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("cannot connect to peer shop"), "{}", ended.err);

    // 2: nothing was sent.
    shell.write("peer.yaml", "name: shop\npostgres_config: {host: h, password: planted-in-the-clear}\n");
    for (line, part) in [
        ("peer create -f gone.yaml", "cannot read gone.yaml"),
        ("peer create -f peer.yaml", "${env:TARN_PEER_SHOP_PASSWORD}"),
        ("peer create postgres shop --host h --user u --database d", "give --password-env"),
        ("peer create postgres shop --host h --user u --database d --password-env GONE", "GONE is not set"),
        ("mirror edit x", "the edit changes nothing"),
        ("mirror create x", "--source"),
        ("nonsense", "unrecognized subcommand"),
        ("logs --address ftp://x", "http:// or https:// is expected"),
        ("apply -f gone.yaml", "cannot read gone.yaml"),
    ] {
        let ended = shell.tarn(line);
        assert_eq!(ended.code, 2, "{line}: {}", ended.err);
        assert!(ended.err.contains(part), "{part} in {}", ended.err);
        assert!(!ended.err.contains("planted-in-the-clear"), "{}", ended.err);
    }

    // 3: nobody answers, or not tarn.
    let ended = shell.tarn("peer list --address http://127.0.0.1:1");
    assert_eq!(ended.code, 3);
    assert!(ended.err.contains("is tarn running there?"), "{}", ended.err);
    let ended = shell.tarn(&format!("peer list --address http://{host}:{port}"));
    assert_eq!(ended.code, 3, "{}", ended.err);
    let engine = shell.scene.clickhouse.port();
    let ended = shell.tarn(&format!("peer list --address http://127.0.0.1:{engine}"));
    assert!(matches!(ended.code, 3 | 4), "another server: {}", ended.err);

    // 4: credentials.
    shell.set("TARN_PASSWORD", "planted-guess");
    let ended = shell.tarn("peer list");
    assert_eq!(ended.code, 4);
    assert!(ended.err.contains("TARN_PASSWORD"), "{}", ended.err);
    let file = shell.write("api-password", &format!("{}\n", shell.scene.tarn.password()));
    shell.tarn(&format!("peer list --password-file {}", file.display())).ok();
}
