//! Lua scripts from source to transformed rows: compiled, loaded and run as the service does it.

#[path = "scripts/fixture.rs"]
mod fixture;

use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use fixture::names;
use tarn_batch::Batch as Rows;
use tarn_replication::{Batch, Transform};
use tarn_wasm::{
    Capabilities, CompiledScript, LanguageCompiler, Level, Limits, LogSink, Manifest, Runtime, RuntimeConfig,
    ScriptError, ScriptInstance, compile_lua, compile_wasm,
};

static COMPILER: LazyLock<LanguageCompiler> =
    LazyLock::new(|| LanguageCompiler::lua(tarn_bundle::SCRIPT_LUA).expect("the runtime is sound"));

fn compile(source: &str) -> CompiledScript {
    COMPILER.compile("script", source).unwrap_or_else(|error| panic!("{error:?} in {source}"))
}

fn refused(source: &str) -> ScriptError {
    COMPILER.compile("script", source).expect_err("the script is refused")
}

/// Settings of a mirror of `public.users` into `people`.
const SETTINGS: &str = r#"{"mirror": "m", "sourcePeer": "s", "destinationPeer": "d",
    "tables": [{"source": "public.users", "destination": "people"}], "output": "rows"}"#;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl LogSink for Lines {
    fn write(&self, level: Level, line: &str) {
        let left_out = level == Level::Warn && line.ends_with("were left out");
        assert!(level == Level::Info || left_out, "{level:?} {line}");
        self.0.lock().expect("no test panics while it holds the lines").push(line.to_owned());
    }
}

/// An instance of a script that is open for tables, and its log.
async fn start(script: &CompiledScript) -> (ScriptInstance, Arc<Lines>) {
    start_with(script, SETTINGS).await
}

async fn start_with(script: &CompiledScript, settings: &str) -> (ScriptInstance, Arc<Lines>) {
    start_within(script, settings, Limits::script()).await
}

async fn start_within(
    script: &CompiledScript,
    settings: &str,
    limits: Limits,
) -> (ScriptInstance, Arc<Lines>) {
    let lines = Arc::new(Lines::default());
    let log = Arc::clone(&lines) as Arc<dyn LogSink>;
    let mut instance = fixture::instance(script, limits, log).await;
    instance.open(settings).await.expect("it opens");
    (instance, lines)
}

/// Rows of `public.users` with these names.
fn users(names: &[&str]) -> Batch {
    fixture::users(&names.iter().copied().map(Some).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_script_becomes_a_component_that_transforms_rows() {
    let script = compile(
        "print('not heard')
         local seen = 0
         function onRecord(r)
           seen = seen + 1
           if r.row.name == 'drop' then return nil end
           print(r.target, r.row.id)
           r.row.name = r.row.name:upper() .. seen
           return r.row
         end",
    );
    assert_eq!(script.entry_points, ["onRecord"]);
    assert_eq!(script.digest.len(), 64);
    let (mut instance, lines) = start(&script).await;
    assert_eq!(instance.describe().await.expect("described"), r#"{"entryPoints":["onRecord"]}"#);
    let transformed = instance.apply(users(&["ada", "drop", "eva"])).await.expect("applied");
    assert_eq!(names(&transformed), ["ADA1", "EVA3"]);
    assert_eq!((transformed.dropped, transformed.rejected.len()), (1, 0));
    assert_eq!(*lines.0.lock().expect("whole"), ["people\t1", "people\t3"]);
    let transformed = instance.apply(users(&["ada"])).await.expect("applied");
    assert_eq!(names(&transformed), ["ADA4"]);
}

#[test]
fn the_same_source_and_runtime_give_the_same_bytes() {
    let source = "local t = {} for i = 1, 100 do t['k' .. i] = math.random(1000) end
                  function onRecord(r) return r end";
    let once = compile(source);
    assert_eq!(once, compile_lua(tarn_bundle::SCRIPT_LUA, "another name", source).expect("compiled"));
    assert_ne!(once.digest, compile(&format!("{source} ")).digest);
}

#[tokio::test]
async fn stored_scripts_that_are_required_become_part_of_the_component() {
    let find = |name: &str| match name {
        "names" => Some("local text = require 'text' return { loud = text.upper }".to_owned()),
        "text" => Some("return { upper = string.upper }".to_owned()),
        "itself" => Some("require 'itself'".to_owned()),
        _ => None,
    };
    let source = "local names = require 'names'
         function onRecord(r) r.row.name = names.loud(r.row.name) return r end";
    let script = COMPILER.compile_with("script", source, &find).expect("compiled");
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["ada"])).await.expect("applied");
    assert_eq!(names(&transformed), ["ADA"]);
    // What is stored and not required is no part of it.
    let plain = "function onRecord(r) return r end";
    assert_eq!(COMPILER.compile_with("script", plain, &find), COMPILER.compile("script", plain));
    let error = COMPILER.compile_with("script", "require 'itself'", &find).expect_err("it is refused");
    assert_eq!((error.line, &*error.message), (1, "itself:1: the module \"itself\" requires itself"));
    let endless = |name: &str| Some(format!("require '{name}x'"));
    let error = COMPILER.compile_with("script", "require 'a'", &endless).expect_err("it is refused");
    assert!(error.message.contains("more than 16 stored scripts"), "{error}");
    // A module has no entry point: it compiles, and no mirror can use it.
    let module = compile("return { x = 1 }");
    assert_eq!(module.entry_points, [""; 0]);
    let component =
        Runtime::new(RuntimeConfig { instances_max: 2, ..RuntimeConfig::default() }).expect("it starts");
    let loaded = component.load(&Manifest::script("script"), module.component).await.expect("it loads");
    let mut instance =
        component.script(&loaded, Capabilities::none(), Limits::script()).await.expect("it is instantiated");
    let failure = instance.open(SETTINGS).await.expect_err("it is refused");
    assert_eq!(failure.code, "script_without_entry_point");
}

#[tokio::test]
async fn a_script_for_a_queue_makes_messages() {
    let script = compile(
        "local json, msgpack = require 'json', require 'msgpack'
         function onRecord(r)
           if r.row.id == 2 then return r.row end
           local value = json.encode { number = 6 / 2, small = 0.1, row = r.row, packed = #msgpack.encode(r) }
           return { topic = 'people', key = r.row.id, value = value, headers = { a = 'b' } }
         end",
    );
    let (mut instance, _) = start_with(&script, &SETTINGS.replace("\"rows\"", "\"messages\"")).await;
    let transformed = instance.apply(users(&["ada", "eva"])).await.expect("applied");
    assert!(transformed.rejected[0].message.contains("for a queue"), "{:?}", transformed.rejected);
    let batch = Rows::parse(&transformed.batch.bytes).expect("the batch is sound");
    let row = batch.rows().next().expect("one").expect("sound");
    let message = row.outgoing().expect("sound").expect("a message");
    let value = String::from_utf8_lossy(message.value.unwrap_or_default());
    assert!(value.starts_with(r#"{"number":3,"packed":"#), "{value}");
    assert!(value.ends_with(r#","row":{"id":1,"name":"ada"},"small":0.1}"#), "{value}");
    assert_eq!((message.topic, message.key), (Some("people"), Some(&b"1"[..])));
    assert_eq!((message.headers.count(), message.record_key), (1, Some("id=1")));
}

#[test]
fn a_script_that_is_wrong_is_refused_with_its_place() {
    let error = refused("function onRecord(r)\n  local x = 1 +* 2\nend");
    assert_eq!((error.line, error.column), (2, Some(16)));
    assert_eq!(error.message, "unexpected symbol near '*'");
    let error = refused("\nfoo()");
    assert_eq!((error.line, &*error.message), (2, "attempt to call a nil value (global 'foo')"));
    let error = refused("local x = 1");
    assert_eq!(error.line, 0);
    assert!(error.message.contains("defines no entry point"), "{error}");
    let error = refused("require 'socket'");
    assert!(error.message.contains("no module \"socket\""), "{error}");
    let error = refused("os.time()");
    assert!(error.message.contains("no clock while a script is loaded"), "{error}");
}

#[test]
fn a_top_level_without_end_is_refused_within_seconds() {
    for source in [
        "while true do end",
        "local s = ('a'):rep(30) s:find(('a?'):rep(30) .. ('a'):rep(30) .. 'b')",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
        "local function f() return f() + 1 end f()",
        "local function f() return (string.gsub('a', 'a', f)) end f()",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k + 1] end local x = t[1]",
        "local s = '' for i = 1, 1e5 do s = '(' .. s end load('return ' .. s)()",
        "local co co = coroutine.wrap(function() return coroutine.wrap(co)() end) co()",
    ] {
        let begun = Instant::now();
        let error = COMPILER.compile("script", &format!("{source} function onRecord(r) end"));
        assert!(begun.elapsed() < Duration::from_secs(60), "{source} took {:?}", begun.elapsed());
        // Some end by themselves; what counts is that each ends with a word for the author.
        if let Err(error) = error {
            assert!(!error.message.contains("cannot be used"), "{source}: {error}");
            assert!(!error.message.contains("stopped the Lua runtime"), "{source}: {error}");
        }
    }
    assert!(refused("while true do end").message.contains("does not end in time: does it loop"));
    let error = refused("local t = {} while true do t[#t % 3000 + 1] = ('x'):rep(20000) .. #t end");
    assert!(error.message.contains("MiB of memory"), "{error}");
    assert!(refused(&" ".repeat(2 << 20)).message.contains("at most"));
    let error = refused(
        "kept = {} for i = 1, 600 do kept[i] = (tostring(i) .. 'x'):rep(20000) end function onRecord(r) end",
    );
    assert!(error.message.contains("are kept"), "{error}");
}

#[tokio::test]
async fn an_error_names_its_line_and_the_row() {
    let script =
        compile("function onRecord(r)\n  if r.row.id == 2 then\n    error('no')\n  end\n  return r\nend");
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["a", "b", "c"])).await.expect("applied");
    assert_eq!(names(&transformed), ["a", "c"]);
    let [rejection] = &transformed.rejected[..] else { panic!("one is rejected") };
    assert_eq!((rejection.row, rejection.line), (1, 3));
    assert_eq!([&*rejection.table, &*rejection.key, &*rejection.message], ["public.users", "id=2", "no"]);
}

#[tokio::test]
async fn an_error_names_its_function_and_what_was_logged_last() {
    let script = compile(
        "local function check(row)
           print('row ' .. row.id)
           if row.id == 2 then row.nowhere = 1 end
           if row.id == 3 then error({}) end
         end
         function onRecord(r)
           check(r.row)
           if r.row.id == 4 then return nil + 1 end
           return r
         end",
    );
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["a", "b", "c", "d"])).await.expect("applied");
    let places: Vec<_> = transformed.rejected.iter().map(|one| (one.line, one.function.as_str())).collect();
    assert_eq!(places, [(3, "check"), (4, "check"), (8, "onRecord")], "{:?}", transformed.rejected);
    assert_eq!(transformed.rejected[1].log_lines, ["row 1", "row 2", "row 3"]);
    assert!(transformed.rejected.iter().all(|one| !one.message.contains('\u{1f}')));
}

/// A limit that a script reaches stops its instance, and the failure names it.
#[tokio::test]
async fn every_limit_of_a_script_is_reached_by_its_own_failure() {
    let small = Limits {
        run_time_max: Duration::from_millis(300),
        memory_bytes_max: 64 << 20,
        output_bytes_max: 1 << 20,
        host_calls_max: 1_000,
        log_lines_max: 3,
    };
    for (body, code) in [
        ("while true do end", "plugin_run_time_limit"),
        ("local s = ('x'):rep(90 * 1024 * 1024) return s and r", "plugin_memory_limit"),
        ("r.row.name = ('x'):rep(2000000) return r", "plugin_output_limit"),
        ("for i = 1, 2000 do print(i) end return r", "plugin_host_call_limit"),
    ] {
        let script = compile(&format!("function onRecord(r) {body} end"));
        let mut instance = start_within(&script, SETTINGS, small).await.0;
        let failure = instance.apply(users(&["a"])).await.expect_err(body);
        assert_eq!(failure.code, code, "{body}: {failure}");
    }
    let script = compile("function onRecord(r) for i = 1, 10 do print(i) end return r end");
    let (mut instance, lines) = start_within(&script, SETTINGS, small).await;
    instance.apply(users(&["a"])).await.expect("lines that are too many are left out");
    assert_eq!(*lines.0.lock().expect("whole"), ["1", "2", "3", "7 more lines of apply were left out"]);
    let many = "local t = {} for i = 1, 1001 do t[i] = 'm' end return table.unpack(t)";
    let script = compile(&format!("function onRecord(r) {many} end"));
    let (mut instance, _) = start_with(&script, &SETTINGS.replace("\"rows\"", "\"messages\"")).await;
    let transformed = instance.apply(users(&["a"])).await.expect("applied");
    assert!(transformed.rejected[0].message.contains("at most 1000"), "{:?}", transformed.rejected);
}

/// On one thread: a neighbour's batches go on while a script loops.
#[tokio::test]
async fn a_script_in_an_endless_loop_does_not_hold_the_thread() {
    let hostile = compile("function onRecord(r) while true do end end");
    let good = compile("function onRecord(r) r.row.name = 'x' return r end");
    let limits = Limits { run_time_max: Duration::from_millis(800), ..Limits::script() };
    let mut hostile = start_within(&hostile, SETTINGS, limits).await.0;
    let (mut good, _) = start(&good).await;
    let looping = tokio::spawn(async move { hostile.apply(users(&["a"])).await });
    let begun = Instant::now();
    let mut batches = 0;
    while !looping.is_finished() {
        good.apply(users(&["a"])).await.expect("applied");
        batches += 1;
        tokio::task::yield_now().await;
        assert!(begun.elapsed() < Duration::from_secs(60), "the loop is never stopped");
    }
    let failure = looping.await.expect("no panic").expect_err("stopped");
    assert_eq!(failure.code, "plugin_run_time_limit");
    assert!(batches > 10, "only {batches} batches went through beside the loop");
}

#[tokio::test]
async fn limits_inside_the_sandbox_are_errors_of_one_record() {
    let script = compile(
        "local function deep() return deep() + 1 end
         local function nested() return (string.gsub('a', 'a', nested)) end
         local function indexed(t, k) return t[k + 1] end
         function onRecord(r)
           local id = r.row.id
           if id == 1 then local t = {} for i = 1, 1e9 do t[i] = {} end end
           if id == 2 then deep() end
           if id == 3 then nested() end
           if id == 4 then local t = setmetatable({}, {__index = indexed}) local x = t[1] end
           if id == 5 then string.rep('x', 1 << 30) end
           if id == 6 then r.row.name = tostring(pcall(deep)) end
           -- Each byte becomes six.
           if id == 7 then require('json').encode(('\\1'):rep(16000000)) end
           return r
         end",
    );
    let (mut instance, _) = start(&script).await;
    let transformed =
        instance.apply(users(&["a", "b", "c", "d", "e", "f", "g", "h"])).await.expect("applied");
    assert_eq!(names(&transformed), ["false", "h"], "{:?}", transformed.rejected);
    let messages: Vec<_> = transformed.rejected.iter().map(|rejection| &*rejection.message).collect();
    for (message, expected) in messages.iter().zip([
        "not enough memory",
        "stack overflow",
        "stack overflow",
        "stack overflow",
        "not enough memory",
        "not enough memory",
    ]) {
        assert!(message.contains(expected), "{messages:?}");
    }
}

#[test]
fn an_uploaded_component_must_be_a_script() {
    let script = compile("function onRecord(r) return r end");
    let uploaded = compile_wasm("mine", &script.component).expect("it is a script");
    assert_eq!((&uploaded.component, &uploaded.digest), (&script.component, &script.digest));
    let module = compile_wasm("mine", tarn_bundle::SCRIPT_LUA).expect("a core module becomes a component");
    assert!(module.component.starts_with(b"\0asm\x0d\0\x01\0"));
    for (bytes, reason) in [
        (tarn_bundle::POSTGRES, "postgres"),
        (&b"function onRecord(r) end"[..], "no WebAssembly"),
        (&script.component[..script.component.len() / 2], "malformed"),
    ] {
        let error = compile_wasm("mine", bytes).expect_err("it is refused");
        assert!(error.message.contains(reason), "{error}");
    }
}
