use std::fs;

use tarn_model::{
    ClickHouseConfig, PeerConfig, PostgresConfig, ScriptLanguage, Secret, SshConfig, TableMapping,
};

use super::*;

fn load(text: &str) -> Result<Setup, String> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("mask.lua"), "function onRecord(r) return r.row end\n").expect("written");
    fs::write(folder.path().join("key"), "ssh key\nof two lines\n").expect("written");
    let path = folder.path().join("setup.yaml");
    fs::write(&path, text).expect("written");
    let environment = |name: &str| (name == "PW").then(|| "p${env:X}w".to_owned());
    Setup::load(&path, &environment).map_err(|error| error.for_people())
}

const GOOD: &str = r#"
version: 1
peers:
  - name: shop
    postgres_config:
      host: db.internal
      port: 5432
      user: tarn
      password: ${env:PW}
      database: shop
      ssh_config: {host: jump, user: tarn, private_key: "${file:key}"}
  - {name: analytics, type: CLICKHOUSE, clickhouseConfig: {host: ch, password: "${env:PW}"}}
scripts:
  - {name: mask, file: mask.lua}
  - name: inline
    lang: lua
    source: |
      -- ${env:NOT_A_REFERENCE}
      function onRecord(r) return r.row end
mirrors:
  - flow_job_name: orders
    source_name: shop
    destination_name: analytics
    do_initial_snapshot: true
    script: mask
    table_mappings:
      - {source_table_identifier: public.orders, destination_table_identifier: orders, exclude: [a]}
"#;

#[test]
fn a_setup_is_read_with_its_references_replaced() {
    let setup = load(GOOD).expect("a good setup");
    let PeerConfig::Postgres(shop) = &setup.peers[0].config else { panic!("a PostgreSQL peer") };
    assert_eq!(shop.password.expose(), "p${env:X}w");
    let ssh = shop.ssh_config.as_ref().expect("there");
    assert_eq!(ssh.private_key.expose(), "ssh key\nof two lines");
    assert_eq!(setup.scripts[0].source, "function onRecord(r) return r.row end\n");
    assert!(setup.scripts[1].source.starts_with("-- ${env:NOT_A_REFERENCE}"), "code is left as it is");
    assert_eq!(setup.mirrors[0].max_batch_size, 250_000, "defaults are filled in");
}

#[test]
fn json_is_read_as_well() {
    let json = r#"{"peers": [{"name": "a", "clickhouse_config": {"host": "h", "password": "${env:PW}"}}]}"#;
    assert_eq!(load(json).expect("a good setup").peers[0].name, "a");
}

#[test]
fn every_mistake_is_named_at_once_with_its_place() {
    let error = load(
        r#"
peers:
  - {name: a, postgres_config: {host: h, pasword: x}}
  - {name: b, clickhouse_config: {host: h, password: hunter2}}
  - {name: c, postgres_config: {password: "${env:GONE}"}}
  - {name: d}
  - {name: e, type: POSTGRES, clickhouse_config: {}}
scripts:
  - {name: s, lang: cobol, source: x}
  - {name: t, file: gone.lua}
  - {name: u}
mirrors:
  - {flow_job_name: m, resync: true}
  - {flow_job_name: m, table_mappings: [{source_table: x}]}
  - {flow_job_name: m, max_batch_size: many}
"#,
    )
    .expect_err("many mistakes");
    for part in [
        "peers[0].postgres_config.pasword: there is no such field; there are host, port,",
        "peers[1].clickhouse_config.password: a secret in the clear; write ${env:TARN_PEER_B_PASSWORD}",
        "peers[2].postgres_config.password: the environment variable GONE is not set",
        "peers[3]: postgres_config, clickhouse_config or kafka_config is missing",
        "peers[4].type: it is POSTGRES, but the settings are those of CLICKHOUSE",
        "scripts[0].lang: not a script language",
        "scripts[1].file: cannot read",
        "scripts[2]: source or file is missing",
        "mirrors[0].resync: a resync is an act",
        "mirrors[1].table_mappings[0].source_table: there is no such field",
        "mirrors[2].max_batch_size: expected a whole number",
    ] {
        assert!(error.contains(part), "{part}\nin\n{error}");
    }
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn names_are_there_once_and_the_version_is_known() {
    let twice = "peers:\n  - {name: a, postgres_config: {}}\n  - {name: a, clickhouse_config: {}}\n";
    assert!(load(twice).expect_err("twice").ends_with("peers: a is there twice"));
    assert!(load("version: 2").expect_err("newer").contains("reads version 1, not 2"));
    assert!(load("peer: []").expect_err("a typing mistake").contains("peer: there is no such field"));
}

#[test]
fn a_file_that_is_no_yaml_is_told_by_its_place_and_not_quoted() {
    let error = load("peers:\n  - name: a\n   password: hunter2\n").expect_err("no YAML");
    assert!(error.contains("line 3") && !error.contains("hunter2"), "{error}");
}

fn setup() -> Setup {
    let mut mirror = MirrorSpec {
        name: "orders".into(),
        source_peer: "shop-1".into(),
        destination_peer: "analytics".into(),
        do_initial_snapshot: true,
        max_batch_size: 1_000,
        resync: true,
        tables: vec![TableMapping {
            source: "public.orders".into(),
            destination: "orders".into(),
            exclude: vec!["a".into()],
            ..TableMapping::default()
        }],
        env: [("EMPTY".to_owned(), String::new())].into(),
        ..MirrorSpec::default()
    };
    mirror.fill_defaults();
    let secret = || Secret::new(tarn_model::MASK);
    Setup {
        peers: vec![
            Peer {
                name: "shop-1".into(),
                config: PeerConfig::Postgres(PostgresConfig {
                    host: "db${x}".into(),
                    port: 5432,
                    user: "yes".into(),
                    password: secret(),
                    database: "0123".into(),
                    root_ca: "BEGIN\nx\nEND\n".into(),
                    ssh_config: Some(SshConfig {
                        host: "jump".into(),
                        port: 22,
                        user: "u".into(),
                        private_key: secret(),
                        ..SshConfig::default()
                    }),
                    ..PostgresConfig::default()
                }),
            },
            Peer {
                name: "shop.1".into(),
                config: PeerConfig::Clickhouse(ClickHouseConfig {
                    host: "ch".into(),
                    password: secret(),
                    ..ClickHouseConfig::default()
                }),
            },
        ],
        scripts: vec![ScriptText {
            name: "mask".into(),
            language: ScriptLanguage::Lua,
            source: "  -- ${env:X}\nfunction onRecord(r) return r.row end\n".into(),
            tests: None,
        }],
        mirrors: vec![mirror],
    }
}

#[test]
fn a_written_setup_holds_references_and_nothing_that_is_at_its_default() {
    let Written { text, variables } = written(&setup());
    let expected = r#"version: 1
peers:
- name: shop-1
  postgres_config:
    host: db$${x}
    port: 5432
    user: "yes"
    password: ${env:TARN_PEER_SHOP_1_PASSWORD}
    database: "0123"
    root_ca: |
      BEGIN
      x
      END
    ssh_config:
      host: jump
      port: 22
      user: u
      private_key: ${env:TARN_PEER_SHOP_1_SSH_CONFIG_PRIVATE_KEY}
- name: shop.1
  clickhouse_config:
    host: ch
    password: ${env:TARN_PEER_SHOP_1_PASSWORD_2}
scripts:
- name: mask
  lang: lua
  source: |2
      -- ${env:X}
    function onRecord(r) return r.row end
mirrors:
- flow_job_name: orders
  source_name: shop-1
  destination_name: analytics
  do_initial_snapshot: true
  env:
    EMPTY: ""
  max_batch_size: 1000
  table_mappings:
  - source_table_identifier: public.orders
    destination_table_identifier: orders
    exclude:
    - a
"#;
    assert_eq!(text, expected);
    assert_eq!(
        variables,
        [
            "TARN_PEER_SHOP_1_PASSWORD",
            "TARN_PEER_SHOP_1_SSH_CONFIG_PRIVATE_KEY",
            "TARN_PEER_SHOP_1_PASSWORD_2"
        ]
    );
}

#[test]
fn what_was_written_is_read_as_it_was() {
    let Written { text, .. } = written(&setup());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("setup.yaml");
    fs::write(&path, text).expect("written");
    let read = Setup::load(&path, &|_| Some(tarn_model::MASK.to_owned())).expect("it is a setup");
    let mut expected = setup();
    expected.mirrors[0].resync = false;
    assert_eq!(read, expected);
}
