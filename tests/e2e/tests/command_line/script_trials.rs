//! Scripts that are tried out before they are stored.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::shell::Shell;

const MASK: &str = "function onRecord(r)
  print('seen', r.row.id, r.target)
  if r.row.email == nil then error('no address') end
  r.row.email = '***'
  return r.row
end
";

/// Cases that a Lua chunk makes.
const CASES: &str = "local cases = {}
for id = 1, 3 do
  cases[id] = { case = 'masks ' .. id, new = { id = id, email = 'x' }, expect = { new = { email = '***' } } }
end
return { tables = { ['public.users'] = { 'id bigint key', 'email text' } }, cases = cases }
";

const RECORDS: &str = r#"[
  {"source": "public.users", "target": "people",
    "new": {"id": 9007199254740993, "price": 1.50, "email": "jane@example.com"}},
  {"source": "public.users", "new": {"id": 8}}
]"#;

#[test]
fn a_script_is_tested_on_its_cases_and_on_records_before_it_is_stored() {
    let shell = Shell::start();
    shell.write("mask.lua", MASK);
    shell.write("mask_test.lua", CASES);
    shell.write("records.json", RECORDS);
    assert_eq!(shell.tarn("script test mask.lua").ok(), "ok   masks 1\nok   masks 2\nok   masks 3\n");
    let tested = shell.tarn("script test mask.lua --records records.json");
    assert_eq!(tested.code, 1, "{}", tested.out);
    for part in [
        "#1 insert public.users → people: row,",
        "     COLUMN  BEFORE            AFTER\n",
        "     id      9007199254740993  9007199254740993\n",
        "     price   1.50              1.50\n",
        "  ~  email   jane@example.com  ***\n",
        "  log: seen\t9007199254740993\tpeople".replace('\t', " ").as_str(),
        "#2 insert public.users → people: error,",
        "  line 3, onRecord: no address\n",
    ] {
        assert!(tested.out.contains(part), "{part:?} in {}", tested.out);
    }
    assert!(tested.err.contains("1 of 2 records end in an error"), "{}", tested.err);
    let exactly = shell.tarn("script test mask.lua --records records.json --json");
    assert!(
        exactly.out.contains(r#""row":{"id":9007199254740993,"price":1.50,"email":"***"}"#),
        "{}",
        exactly.out
    );
    assert_eq!(shell.tarn("script list").ok(), "NAME  LANGUAGE  BYTES\n", "nothing was stored");

    assert_eq!(shell.tarn("script put mask.lua").ok(), "stored script mask\n");
    assert_eq!(shell.tarn("script put mask.lua").ok(), "script mask is like that already\n");
    shell.write("mask.lua", &MASK.replace("***", "+++"));
    let refused = shell.tarn("script put mask.lua");
    assert_eq!(refused.code, 1);
    let expected = r#"case "masks 1" fails: expected {"new":{"id":"1","email":"***"}}, got {"new":{"id":"1","email":"+++"}}"#;
    assert!(refused.err.contains(expected), "{}", refused.err);
    let failing = shell.tarn("script test mask.lua");
    assert_eq!(failing.code, 1);
    assert!(failing.out.starts_with("FAIL masks 1\n  expected "), "{}", failing.out);
    assert_eq!(shell.tarn("script versions mask").ok().lines().count(), 2, "the title and one version");

    shell.write("mask_test.lua", "return {");
    let unreadable = shell.tarn("script test mask.lua");
    assert!(unreadable.code == 1 && unreadable.err.contains("tests: line"), "{}", unreadable.err);
}

#[test]
fn a_hostile_script_is_stopped_at_its_limits_and_the_next_record_is_tried() {
    let shell = Shell::start();
    let tarn = &shell.scene.tarn;
    let source = "function onRecord(r)
        if r.row.id == 1 then while true do end end
        if r.row.id == 2 then r.row.text = ('x'):rep(120000000) end
        return r.row
    end";
    let try_on = |ids: &[u32]| {
        let records: Vec<_> = ids.iter().map(|id| json!({"source": "public.t", "new": {"id": id}})).collect();
        let body = json!({"script": {"lang": "lua", "source": source}, "records": records});
        let results = tarn.post("/api/v1/scripts/test", &body).json()["results"].clone();
        let of = |result: &Value| {
            let message = result["error"]["message"].as_str().unwrap_or_default().to_owned();
            (result["outcome"].as_str().unwrap_or_default().to_owned(), message)
        };
        results.as_array().expect("a list").iter().map(of).collect::<Vec<_>>()
    };
    let greedy = try_on(&[2, 3]);
    assert!(greedy[0].0 == "ERROR" && greedy[0].1.contains("memory"), "{greedy:?}");
    assert_eq!(greedy[1].0, "ROW", "{greedy:?}");
    let endless = try_on(&[1, 3]);
    assert!(endless[0].0 == "ERROR" && endless[0].1.contains("ran longer than"), "{endless:?}");
    // A busy machine may have taken all the time that there is for the first.
    assert!(endless[1].0 == "ROW" || endless[1].1.contains("not tried"), "{endless:?}");
    assert!(tarn.get("/healthz").status == 200, "the server goes on");
}

#[test]
fn what_is_saved_is_tested_again() {
    let shell = Shell::start();
    shell.write("mask.lua", MASK);
    shell.write("mask_test.lua", CASES);
    let mut dev = shell
        .command(&["script", "dev", "mask.lua"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(dev.stdout.take().expect("piped")).lines();
    let mut next = |part: &str| {
        let found = lines.by_ref().map(|line| line.expect("text")).find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("it ended before {part}"))
    };
    next("ok   masks 3");
    next("passed; waiting");
    shell.write("mask.lua", &MASK.replace("***", "+++#"));
    next("FAIL masks 1");
    next("3 of 3 tests fail");
    shell.write("mask.lua", "function onRecord(");
    next("line 1");
    shell.write("mask_test.lua", &CASES.replace("1, 3", "1, 4"));
    shell.write("mask.lua", MASK);
    next("ok   masks 4");
    dev.kill().expect("it waits still");
    dev.wait().expect("ended");
}

#[test]
fn a_script_is_built_without_a_server_into_the_bytes_that_the_server_makes() {
    let shell = Shell::start();
    shell.write("names.lua", "return { mask = function() return '***' end }\n");
    let script =
        "local names = require 'names'\nfunction onRecord(r) r.row.name = names.mask() return r.row end\n";
    shell.write("hide.lua", script);
    let build = |words: &[&str]| {
        let mut command = shell.command(&[&["script", "build"], words].concat());
        let output = command.env("TARN_ADDRESS", "http://127.0.0.1:1").output().expect("the binary runs");
        (
            output.status.code(),
            String::from_utf8(output.stdout).expect("text") + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (code, said) = build(&["hide.lua", "-o", "built.wasm"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("entry points: onRecord\n"), "{said}");
    shell.tarn("script put names.lua").ok();
    shell.tarn("script put hide.lua").ok();
    let fetched = shell.tarn("script component hide@1 -o stored.wasm --json").json();
    let digest = fetched["digest"].as_str().expect("a digest");
    assert!(digest.len() == 64 && said.contains(digest), "{said} {digest}");
    let read = |name: &str| std::fs::read(shell.path(name)).expect("written");
    assert!(read("built.wasm") == read("stored.wasm"), "the bytes differ");

    shell.write("broken.lua", "function onRecord(\n");
    let (code, said) = build(&["broken.lua", "-o", "broken.wasm"]);
    assert!(code == Some(2) && said.contains("broken.lua: line 2"), "{said}");
    assert!(!shell.path("broken.wasm").exists());
    let (code, said) = build(&["names.lua", "-o", "names.wasm"]);
    assert!(code == Some(0) && said.contains("no entry point"), "{said}");
}

/// Cases B251 and B253.
#[test]
fn uploaded_wasm_that_cannot_be_used_is_refused_by_what_is_wrong_with_it() {
    let shell = Shell::start();
    shell.write("mask.lua", MASK);
    shell.tarn("script build mask.lua -o mask.wasm").ok();
    let whole = std::fs::read(shell.path("mask.wasm")).expect("written");
    let with = |from: &[u8], to: &[u8]| {
        assert_eq!(from.len(), to.len());
        let mut bytes = whole.clone();
        let places: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
        assert!(!places.is_empty(), "the component does not say {}", String::from_utf8_lossy(from));
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
        bytes
    };
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("cut short by 14 kB", whole[..whole.len() - 14_000].to_vec(), "malformed"),
        ("cut in the middle", whole[..whole.len() / 2].to_vec(), "malformed"),
        ("of another line", with(b"@0.1.", b"@0.7."), "this host serves 0.1.x"),
        ("with an import of its own", with(b"tarn:plugin/clock", b"tarn:plugin/flock"), "flock"),
        ("no WebAssembly", b"#!/bin/sh\n".to_vec(), "is no WebAssembly"),
        ("a module without a contract", b"\0asm\x01\0\0\0".to_vec(), "without a component type"),
    ];
    for (what, bytes, message) in cases {
        std::fs::write(shell.path("bad.wasm"), bytes).expect("written");
        let refused = shell.tarn("script put bad.wasm");
        assert_eq!(refused.code, 1, "{what}: {}", refused.out);
        assert!(refused.err.contains(message), "{what}: {}", refused.err);
    }
    std::fs::write(shell.path("bad.wasm"), vec![0; 19 << 20]).expect("written");
    let refused = shell.tarn("script put bad.wasm");
    assert!(refused.code == 1 && refused.err.contains("bytes"), "too large: {}", refused.err);
    assert_eq!(shell.tarn("script list").ok(), "NAME  LANGUAGE  BYTES\n");
    assert_eq!(shell.tarn("script put mask.wasm").ok(), "stored script mask\n");
}
