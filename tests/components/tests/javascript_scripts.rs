//! JavaScript scripts from source to transformed rows: compiled, loaded and run as the service does it.

#[path = "scripts/fixture.rs"]
mod fixture;

use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use fixture::names;
use tarn_batch::Batch as Rows;
use tarn_replication::{Batch, Transform};
use tarn_wasm::{
    Capabilities, CompiledScript, LanguageCompiler, Level, Limits, LogSink, Manifest, Runtime, RuntimeConfig,
    ScriptError, ScriptInstance, compile_javascript, compile_wasm,
};

static COMPILER: LazyLock<LanguageCompiler> = LazyLock::new(|| {
    LanguageCompiler::javascript(tarn_bundle::SCRIPT_JAVASCRIPT).expect("the runtime is sound")
});

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
struct Lines(Mutex<Vec<(Level, String)>>);

impl LogSink for Lines {
    fn write(&self, level: Level, line: &str) {
        self.0.lock().expect("no test panics while it holds the lines").push((level, line.to_owned()));
    }
}

/// An instance of a script that is open for tables, and its log.
async fn start(script: &CompiledScript) -> (ScriptInstance, Arc<Lines>) {
    start_with(script, SETTINGS).await
}

async fn start_with(script: &CompiledScript, settings: &str) -> (ScriptInstance, Arc<Lines>) {
    let lines = Arc::new(Lines::default());
    let log = Arc::clone(&lines) as Arc<dyn LogSink>;
    let mut instance = fixture::instance(script, Limits::script(), log).await;
    instance.open(settings).await.expect("it opens");
    (instance, lines)
}

/// Rows of `public.users` with these names.
fn users(names: &[&str]) -> Batch {
    fixture::users(&names.iter().copied().map(Some).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_script_runs_as_a_component() {
    let script = compile(
        "let seen = 0;
         export function onRecord(r) {
           seen += 1;
           console.log(r.kind, r.source, r.target, seen);
           console.warn({ id: r.row.id });
           if (r.row.name === 'x') return null;
           r.row.name = r.row.name.toUpperCase();
           return r.row;
         }",
    );
    assert_eq!(script.entry_points, ["onRecord"]);
    let (mut instance, lines) = start(&script).await;
    let transformed = instance.apply(users(&["ada", "x", "eva"])).await.expect("applied");
    assert_eq!(names(&transformed), ["ADA", "EVA"]);
    assert_eq!((transformed.dropped, transformed.rejected.len()), (1, 0));
    let lines = lines.0.lock().expect("no panic");
    assert_eq!(lines[0], (Level::Info, "insert public.users people 1".to_owned()));
    assert_eq!(lines[1], (Level::Warn, "{\"id\":1}".to_owned()));
    assert_eq!(lines[4].1, "insert public.users people 3");
}

#[test]
fn the_same_source_gives_the_same_component() {
    let source = "const kept = [Math.random(), new Map([[1, 2]])]; export function onRecord(r) { return r }";
    let first = compile(source);
    assert_eq!(compile_javascript(tarn_bundle::SCRIPT_JAVASCRIPT, "another name", source), Ok(first.clone()));
    assert_ne!(compile("export function onRecord(r) { return r.row }").digest, first.digest);
}

#[tokio::test]
async fn stored_scripts_are_part_of_the_component() {
    let find = |name: &str| {
        let source = match name {
            "words" => "import { twice } from 'more'; export const loud = text => twice(text.toUpperCase());",
            "more" => "export const twice = text => text + text;",
            _ => return None,
        };
        Some(source.to_owned())
    };
    let source = "import { loud } from './words.js';
        export function onRecord(r) { r.row.name = loud(r.row.name); return r }";
    let script = COMPILER.compile_with("script", source, &find).expect("it compiles");
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["a"])).await.expect("applied");
    assert_eq!(names(&transformed), ["AA"]);
    let error = COMPILER.compile_with("script", "import 'gone'", &find).expect_err("refused");
    assert!(error.message.contains("there is no module \"gone\""), "{error}");
}

#[tokio::test]
async fn a_script_sees_no_clock_but_the_hosts_and_the_same_random_numbers() {
    let script = compile(
        "const first = Math.random();
         function onRecord(r) {
           const now = new Date();
           const fits = Math.abs(now - Date.now()) < 60000 && now.getFullYear() > 2020 && tarn.Time.now().year > 2020;
           r.row.name = `${fits} ${first} ${Math.random()} ${typeof performance} ${now.getTimezoneOffset()}`;
           return r;
         }",
    );
    let mut said = Vec::new();
    for _ in 0..2 {
        let (mut instance, _) = start(&script).await;
        said.push(names(&instance.apply(users(&["a"])).await.expect("applied")));
    }
    assert_eq!(said[0], said[1]);
    assert!(said[0][0].starts_with("true 0."), "{said:?}");
    assert!(said[0][0].ends_with(" undefined 0"), "{said:?}");
    for clock in ["Date.now()", "new Date()", "Date()", "tarn.Time.now()"] {
        let error = refused(&format!("{clock}; function onRecord(r) {{ return r }}"));
        assert!(error.message.contains("no clock while a script is loaded"), "{clock}: {error}");
    }
}

#[tokio::test]
async fn messages_go_to_a_queue() {
    let script = compile(
        "export function onRecord(r) {
           if (r.row.name === 'eva') return r.row;
           const value = tarn.json.encode({ small: 0.1, row: r.row, packed: tarn.msgpack.encode(r).length });
           return [{ topic: 'people', key: r.row.id, value, headers: { a: 'b' } }, 'second'];
         }",
    );
    let (mut instance, _) = start_with(&script, &SETTINGS.replace("\"rows\"", "\"messages\"")).await;
    let transformed = instance.apply(users(&["ada", "eva"])).await.expect("applied");
    assert!(transformed.rejected[0].message.contains("for a queue"), "{:?}", transformed.rejected);
    let batch = Rows::parse(&transformed.batch.bytes).expect("the batch is sound");
    assert_eq!(batch.row_count(), 2);
    let row = batch.rows().next().expect("one").expect("sound");
    let message = row.outgoing().expect("sound").expect("a message");
    let value = String::from_utf8_lossy(message.value.unwrap_or_default());
    assert!(value.starts_with(r#"{"small":0.1,"row":{"id":1,"name":"ada"},"packed":"#), "{value}");
    assert_eq!((message.topic, message.key), (Some("people"), Some(&b"1"[..])));
    assert_eq!((message.headers.count(), message.record_key), (1, Some("id=1")));
}

#[test]
fn a_script_that_is_wrong_is_refused_with_its_place() {
    for (source, line, column, message) in [
        (
            "function onRecord(r) {\n  let x = 1 +* 2;\n}",
            2,
            Some(14),
            "SyntaxError: unexpected token in expression: '*'",
        ),
        ("function onRecord(r) {\n  return r\n", 2, None, "SyntaxError: "),
        ("\nfoo()", 2, Some(1), "ReferenceError: foo is not defined"),
        ("\n\nconst a = null; const b = a.b;", 3, Some(27), "TypeError: cannot read property 'b' of null"),
        ("const x = 1", 0, None, "the script defines no entry point"),
        ("import 'socket'", 0, None, "TypeError: there is no module \"socket\""),
        ("await new Promise(() => {})", 0, None, "the script's top level waits for what never comes"),
        ("Promise.reject(new Error('lost')); function onRecord(r) {}", 1, Some(20), "lost"),
    ] {
        let error = refused(source);
        assert_eq!((error.line, error.column), (line, column), "{source}: {error}");
        assert!(error.message.starts_with(message), "{source}: {error}");
    }
}

/// Ways to go on for ever, or too deep: each throws at some point, or is stopped.
const BOTTOMLESS: [&str; 22] = [
    "function f() { return f() + 1 } f()",
    "const f = (a, b, c, d, e) => f(a, b, c, d, e) + 1; f(1, 2, 3, 4, 5)",
    "function f() { return [1].map(f)[0] } f()",
    "function f() { return [2, 1].sort(f) } f()",
    "const o = { get x() { return this.x } }; o.x",
    "const o = { toString() { return `${this}` } }; String(o)",
    "const o = { toJSON() { return JSON.stringify(this) } }; JSON.stringify(o)",
    "const o = { toJSON() { return tarn.json.encode(this) } }; tarn.json.encode(o)",
    "const p = new Proxy({}, { get: (t, k, self) => self[k] }); p.x",
    "class A { constructor() { new A() } } new A()",
    "function f() { return f.apply(null, [1]) } f()",
    "const f = g => g(f); f(f)",
    "function f(s) { return s.replace(/a/, () => f(s)) } f('a')",
    "function* g() { yield* g() } [...g()]",
    "function f() { return Reflect.construct(f, []) } f()",
    "function f() { return [1].flatMap(f) } f()",
    "const m = new Map([[1, 1]]); function f() { m.forEach(f) } f()",
    "function f() { return eval('f()') } f()",
    "class B { static [Symbol.hasInstance]() { return 1 instanceof B } } 1 instanceof B",
    "function f() { return Array.from([1], f) } f()",
    "let a = []; for (let i = 0; i < 100000; i++) a = [a]; String(a.flat(Infinity))",
    "let o = {}; for (let i = 0; i < 100000; i++) o = { o }; JSON.stringify(o)",
];

/// Texts that are nested a hundred thousand times.
const NESTED: [&str; 14] = [
    "eval('('.repeat(100000))",
    "eval('['.repeat(100000))",
    "eval('{'.repeat(100000))",
    "eval('!'.repeat(100000) + '1')",
    "JSON.parse('['.repeat(100000))",
    "eval('a?'.repeat(100000))",
    "eval('a=>'.repeat(100000) + '1')",
    "eval('a=>{'.repeat(100000))",
    "eval('{if(1)'.repeat(100000))",
    "eval('`${'.repeat(100000))",
    "eval('function f(){'.repeat(100000))",
    "eval('new '.repeat(100000) + 'a')",
    "eval('[a,{b:'.repeat(100000))",
    "new RegExp('('.repeat(100000))",
];

#[test]
fn a_top_level_without_end_is_refused_within_seconds() {
    let others = [
        "while (true) {}",
        "/(a?){30}a{30}$/.test('a'.repeat(29) + 'b'.repeat(5)); /^(a+)+$/.test('a'.repeat(60) + 'b')",
        "const t = []; while (true) t.push('x'.repeat(1000) + t.length)",
        "let s = 'x'; while (true) s += s",
        "const a = new Array(1e9).fill(0)",
        "const a = new Uint8Array(2 ** 31 - 1)",
        "async function f() { await null; return f() } f()",
        "10n ** 10000000n",
    ];
    for source in BOTTOMLESS.iter().chain(&NESTED).chain(&others) {
        let begun = Instant::now();
        let error = COMPILER.compile("script", &format!("{source}; function onRecord(r) {{}}"));
        assert!(begun.elapsed() < Duration::from_secs(60), "{source} took {:?}", begun.elapsed());
        // Some end by themselves; what counts is that each ends with a word for the author.
        if let Err(error) = error {
            assert!(!error.message.contains("cannot be used"), "{source}: {error}");
            assert!(!error.message.contains("stopped the JavaScript runtime"), "{source}: {error}");
        }
    }
    assert!(refused("while (true) {}").message.contains("does not end in time"));
    assert!(refused(&" ".repeat(2 << 20)).message.contains("at most"));
    let error = refused(
        "globalThis.kept = []; for (let i = 0; i < 600; i++) kept.push((i + 'x').repeat(20000));
         function onRecord(r) {}",
    );
    assert!(error.message.contains("are kept"), "{error}");
}

#[tokio::test]
async fn an_error_names_its_line_column_and_function_and_the_row() {
    let script = compile(
        "const check = row => {\n  if (row.id === 2n) throw new RangeError('no');\n};
         function onRecord(r) {\n  check(r.row);\n  return r;\n}",
    );
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["a", "b", "c"])).await.expect("applied");
    assert_eq!(names(&transformed), ["a", "c"]);
    let [rejection] = &transformed.rejected[..] else { panic!("one is rejected") };
    assert_eq!((rejection.row, rejection.line), (1, 2));
    assert_eq!([&*rejection.table, &*rejection.key], ["public.users", "id=2"]);
    assert_eq!([&*rejection.message, &*rejection.function], ["RangeError: no", "check, column 32"]);
}

#[tokio::test]
async fn limits_inside_the_sandbox_are_errors_of_one_record() {
    let script = compile(
        "function deep() { return deep() + 1 }
         function onRecord(r) {
           switch (r.row.id) {
             case 1n: { const t = []; for (let i = 0; i < 1e9; i++) t.push({}); break }
             case 2n: deep(); break;
             case 3n: 'x'.repeat(1 << 29); break;
             case 4n: try { deep() } catch (error) { r.row.name = error.name } break;
             // Each character becomes six.
             case 5n: tarn.json.encode('\\u0001'.repeat(16000000)); break;
             case 6n: { const t = []; for (;;) t.push(new tarn.Decimal(1)) }
             case 7n: { const t = []; for (;;) t.push(new Uint8Array(1000000)) }
           }
           return r;
         }",
    );
    let (mut instance, _) = start(&script).await;
    let given = users(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    // The same instance goes on: nothing of a failed record stays.
    for _ in 0..2 {
        let transformed = instance.apply(given.clone()).await.expect("applied");
        assert_eq!(names(&transformed), ["RangeError", "h"], "{:?}", transformed.rejected);
        let messages: Vec<_> = transformed.rejected.iter().map(|rejection| &*rejection.message).collect();
        for (message, expected) in messages.iter().zip([
            "out of memory",
            "RangeError: Maximum call stack size exceeded",
            "out of memory",
            "has more than",
            "out of memory",
            "out of memory",
        ]) {
            assert!(message.contains(expected), "{messages:?}");
        }
    }
}

#[tokio::test]
async fn recursion_without_end_is_an_error_of_one_record() {
    let sources: Vec<&str> = BOTTOMLESS.iter().chain(&NESTED).copied().collect();
    let ways: Vec<String> = sources.iter().map(|source| format!("() => {{ {source} }},\n")).collect();
    // The log's tail names the one that would stop the instance.
    let script = compile(&format!(
        "const ways = [{}];
         function onRecord(r) {{ const way = ways[Number(r.row.id) - 1]; console.log(String(way)); way?.(); return r }}",
        ways.concat()
    ));
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&vec!["a"; sources.len() + 1])).await;
    let transformed = transformed.unwrap_or_else(|failure| panic!("{failure}"));
    for rejection in &transformed.rejected {
        let expected = ["call stack", "too deep", "SyntaxError", "stack overflow"];
        let is_known = expected.iter().any(|word| rejection.message.contains(word));
        assert!(is_known, "{}: {rejection:?}", sources[rejection.row as usize]);
    }
    // What is flat for the engine, such as a generator in a generator, may end by itself.
    assert!(transformed.rejected.len() > sources.len() - 5, "{}", transformed.rejected.len());
    assert_eq!(names(&transformed).last().map(String::as_str), Some("a"));
}

#[tokio::test]
async fn what_people_write_is_not_too_deep() {
    let script = compile(
        "const nested = (open, inner, close) => open.repeat(60) + inner + close.repeat(60);
         const deep = n => n === 0 ? 0 : 1 + deep(n - 1);
         function onRecord(r) {
           for (const source of [
             nested('(', '1', ')'), nested('[', '', ']'), nested('({a:', '1', '})'), nested('a=>{', '', '}'),
             nested('1?', '1', ':2'), nested('!', '1', ''), nested('`${', '1', '}`'), nested('{if(1)', ';', '}'),
           ]) eval(source);
           JSON.parse(nested('[', '', ']'));
           tarn.json.decode(nested('[', '', ']'));
           r.row.name = String(deep(500));
           return r;
         }",
    );
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["a"])).await.expect("applied");
    assert_eq!(names(&transformed), ["500"], "{:?}", transformed.rejected);
}

#[tokio::test]
async fn a_loop_in_a_function_is_stopped_by_its_run_time() {
    let script = compile("function onRecord(r) { for (;;) {} }");
    let runtime = Runtime::new(RuntimeConfig { instances_max: 2, ..RuntimeConfig::default() })
        .expect("the sandbox starts");
    let component = runtime.load(&Manifest::script("script"), script.component).await.expect("it loads");
    let limits = Limits { run_time_max: Duration::from_millis(300), ..Limits::script() };
    let mut instance =
        runtime.script(&component, Capabilities::none(), limits).await.expect("it is instantiated");
    instance.open(SETTINGS).await.expect("it opens");
    let failure = instance.apply(users(&["a"])).await.expect_err("it is stopped");
    assert_eq!(failure.code, "plugin_run_time_limit");
}

#[tokio::test]
async fn what_a_script_makes_of_a_batch_is_bounded() {
    let script =
        compile("const big = 'x'.repeat(1 << 23); function onRecord(r) { r.row.name = big; return r }");
    let (mut instance, _) = start(&script).await;
    let transformed = instance.apply(users(&["a"; 12])).await.expect("applied");
    assert!(transformed.rejected.len() > 2, "{}", transformed.rejected.len());
    assert!(transformed.rejected[0].message.contains("bytes of the batch"), "{:?}", transformed.rejected[0]);
}

#[test]
fn an_uploaded_component_must_be_a_script() {
    let script = compile("function onRecord(r) { return r }");
    let uploaded = compile_wasm("mine", &script.component).expect("it is a script");
    assert_eq!((&uploaded.component, &uploaded.digest), (&script.component, &script.digest));
}
