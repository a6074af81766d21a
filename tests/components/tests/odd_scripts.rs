//! What nobody should write, and somebody will: each is an error of its record or a row, never the end of the
//! instance, and the records around it and the next batch see nothing of it.

#[path = "scripts/fixture.rs"]
mod fixture;

use std::sync::Arc;

use tarn_batch::{Batch as Rows, Cell};
use tarn_replication::{Transform as _, Transformed};
use tarn_wasm::{LanguageCompiler, Limits, NoLog};

/// What becomes of a record.
#[derive(Clone, Copy, Debug)]
enum Becomes {
    /// It goes on, with this name.
    Row(&'static str),
    /// It is rejected, and the message has this in it.
    Error(&'static str),
}

use Becomes::{Error, Row};

const SETTINGS: &str = r#"{"mirror": "m", "tables": [{"source": "public.users", "destination": "people"}],
    "output": "rows"}"#;

const IN_LUA: &[(&str, Becomes)] = &[
    ("setmetatable(r.row, {}) return r", Error("takes a table")),
    ("getmetatable(r.row).__index = print return r", Error("attempt to index")),
    ("rawset(r.row, 'name', 'x') return r", Error("table expected")),
    ("r.row = 5 return r", Error("no fields to assign")),
    ("return 42", Error("returned a number")),
    ("return {}", Error("returned a table")),
    ("return r.row, r.row", Error("several values")),
    ("return coroutine.wrap(function() coroutine.yield(r) end)()", Row("a")),
    ("coroutine.wrap(function() r.row.name = 'co' end)() return r.row", Row("co")),
    ("coroutine.yield(1) return r", Error("yield")),
    (
        "local c = coroutine.create(function() coroutine.close(coroutine.running()) end) r.row.name = tostring(coroutine.resume(c)) return r",
        Row("false"),
    ),
    ("kept, kept_row, later = r, r.row, function() return r.row.name end return r", Row("a")),
    ("return kept", Error("returned a userdata")),
    ("return kept_row", Error("earlier record")),
    ("r.row.name = kept.row.name return r", Error("earlier record")),
    ("kept_row.name = 'x' return r", Error("earlier record")),
    ("later() return r", Error("earlier record")),
    ("for k in pairs(kept_row) do end return r", Error("earlier record")),
    ("error({ code = 1 })", Error("")),
    ("error(setmetatable({}, { __tostring = function() return 'mine' end }))", Error("mine")),
    ("error(setmetatable({}, { __tostring = function() error('inner') end }))", Error("")),
    ("error(setmetatable({}, { __tostring = function() return 5 end }))", Error("")),
    ("error(setmetatable({}, { __tostring = function(self) return tostring(self) end }))", Error("")),
    ("error(nil)", Error("")),
    ("error('', 0)", Error("no text")),
    ("error(('x'):rep(3000000))", Error("xxxx")),
    ("error('\\xff\\0\\x1f\\x1fno function')", Error("")),
    ("local t = {} t[0/0] = 1 return r", Error("NaN")),
    ("r.row.id = 0/0 return r", Error("id")),
    ("r.row.id = 2^63 return r", Error("id")),
    ("r.row.id = nil return r", Error("null")),
    ("r.row.id = {} return r", Error("id")),
    ("local x = r.row[0/0] return r", Error("names of its columns")),
    ("local x = r.row[nil] return r", Error("names of its columns")),
    ("local x = r.row[print] return r", Error("names of its columns")),
    ("local x = r.row[r.row] return r", Error("names of its columns")),
    ("local x = r.row[''] return r", Error("no column")),
    ("local x = r.row[('n'):rep(100000)] return r", Error("no column")),
    ("r.row.name = type(r[{}]) return r", Row("nil")),
    ("for i = 1, 20000 do pcall(function() r.row['c' .. i] = 1 end) end return r", Row("a")),
    ("for i = 1, 20000 do r.row.name = 'x' .. i end return r", Row("x20000")),
    ("r.row.name = '\\xed\\xa0\\x80' return r", Error("UTF-8")),
    ("r.row.name = '\\u{10FFFF}' return r", Row("\u{10ffff}")),
    ("r.row.name = tostring(load(string.dump(function() end))) return r", Error("")),
    ("r.row.name = tostring(load('\\27Lua')) return r", Row("nil")),
    ("setmetatable({}, { __gc = function() error('x') end }) return r", Error("")),
    (
        "local x <close> = setmetatable({}, { __close = function() error('closing') end }) return r",
        Error("closing"),
    ),
    ("local t = {} for i = 1, 100000 do t = { t } end require('json').encode(t) return r", Error("")),
    ("local t = {} t.t = t require('json').encode(t) return r", Error("")),
    ("local t = {} t.t = t r.row.name = t return r", Error("name")),
    ("require('json').decode(('['):rep(1000000)) return r", Error("")),
    ("require('msgpack').decode(('\\x91'):rep(1000000)) return r", Error("")),
    ("table.unpack({}, 1, 1e8) return r", Error("unpack")),
    ("string.rep('x', -1, ('y'):rep(1000)) r.row.name = ('x'):rep(0) return r", Row("")),
    ("table.sort({ 3, 1, 2, 5, 4, 9, 8, 7 }, function() return true end) return r", Error("")),
    (
        "local s = setmetatable({}, { __index = function(t, k) return t end }) r.row.name = s.a.b.c.d return r",
        Error("name"),
    ),
    ("r.row.name = setmetatable({}, { __tostring = function() return 'x' end }) return r", Error("name")),
    (
        "local p = setmetatable({}, { __pairs = function() return pairs(r.row) end }) for k, v in pairs(p) do r.row.name = k end return r",
        Row("name"),
    ),
    ("for k in pairs(r.row) do r.row[k] = nil end return r", Error("null")),
    ("string.format(('%s'):rep(500), 1) return r", Error("")),
    ("getmetatable('').__index = nil return r", Row("a")),
    (
        "onRecord = nil pairs = nil error = nil setmetatable(_G, { __index = function() return nil end }) return r",
        Row("a"),
    ),
];

const IN_JAVASCRIPT: &[(&str, Becomes)] = &[
    ("return 42", Error("returned")),
    ("return {}", Error("returned")),
    ("return Promise.resolve(r)", Row("a")),
    ("return new Proxy(r, {})", Error("returned")),
    ("return Object.create(r)", Error("returned")),
    ("return [r.row, r.row]", Error("")),
    ("Object.setPrototypeOf(r.row, { get name() { throw 1 } }); return r", Error("")),
    ("Object.defineProperty(r.row, 'name', { get() { return 'x' } }); return r", Error("")),
    ("Object.freeze(r.row); return r", Error("")),
    ("delete r.row.name; return r", Error("")),
    ("kept = r; keptRow = r.row; later = () => r.row.name; return r", Row("a")),
    ("return kept", Error("")),
    ("return keptRow", Error("")),
    ("r.row.name = kept.row.name; return r", Error("earlier")),
    ("keptRow.name = 'x'; return r", Error("earlier")),
    ("later(); return r", Error("earlier")),
    ("Object.keys(keptRow); return r", Error("earlier")),
    ("throw null", Error("")),
    ("throw undefined", Error("")),
    ("throw Symbol('x')", Error("")),
    ("throw 5n", Error("5")),
    ("throw { toString() { throw 1 } }", Error("")),
    ("throw { get message() { throw new Error('again') }, get stack() { throw 2 } }", Error("")),
    ("throw new (class extends Error { get message() { throw new Error('again') } })()", Error("no text")),
    ("throw new Error()", Error("no text")),
    ("throw ''", Error("no text")),
    ("throw new Error('x'.repeat(3000000))", Error("xxx")),
    ("throw new Error('\\ud800\\0\\x1f\\x1fno function')", Error("")),
    ("const e = new Error('looped'); e.cause = e; throw e", Error("looped")),
    ("throw new Proxy(new Error('x'), { get() { throw 1 } })", Error("")),
    (
        "Error.prepareStackTrace = () => { throw 1 }; try { throw new Error('x') } finally { Error.prepareStackTrace = undefined }",
        Error(""),
    ),
    ("Error.stackTraceLimit = { valueOf() { throw 1 } }; throw new Error('limit')", Error("")),
    ("Error.stackTraceLimit = 10; r.row.id = NaN; return r", Error("id")),
    ("r.row.id = 2n ** 63n; return r", Error("id")),
    ("r.row.id = null; return r", Error("null")),
    ("r.row.id = 1.5; return r", Error("id")),
    ("r.row[Symbol.iterator]; return r", Row("a")),
    ("r.row[Symbol('x')] = 1; return r", Error("")),
    ("r.row['']; return r", Error("no column")),
    ("r.row['n'.repeat(100000)]; return r", Error("no column")),
    ("for (let i = 0; i < 20000; i++) try { r.row['c' + i] = 1 } catch {} return r", Row("a")),
    ("r.row.name = '\\ud800'; return r", Error("name")),
    ("r.row.name = '\\u{10ffff}'; return r", Row("\u{10ffff}")),
    ("r.row.name = { toString() { return 'x' } }; return r", Error("name")),
    ("const t = {}; t.t = t; tarn.json.encode(t); return r", Error("")),
    ("tarn.json.encode({ toJSON() { throw new Error('mine') } }); return r", Error("mine")),
    ("tarn.json.encode(new Proxy({}, { ownKeys() { throw new Error('keys') } })); return r", Error("keys")),
    ("tarn.json.encode({ get a() { r.row.name = 'inner'; return 1 } }); return r", Row("inner")),
    ("Promise.resolve().then(() => { throw 1 }); return r", Error("1")),
    ("new FinalizationRegistry(() => { kept.row.name = 'x' }).register({}, 1); return r", Row("a")),
    ("const s = new WeakRef(r.row); r.row.name = String(s.deref() === r.row); return r", Row("true")),
    ("const g = (function* () { yield g.next() })(); g.next(); return r", Error("")),
    (
        "Array.prototype.push = () => { throw 1 }; Object.prototype.row = 1; r.row.name = 'still'; delete Object.prototype.row; return r",
        Row("still"),
    ),
    ("(2n ** 2000000000n); return r", Error("")),
    (
        "r.row.name = typeof WebAssembly + typeof process + typeof require; return r",
        Row("undefinedundefinedundefined"),
    ),
    ("r.row = { id: 5n, name: 'other' }; return r", Error("")),
    ("globalThis.onRecord = null; globalThis.tarn = null; return r", Row("a")),
];

/// Tells every record of a batch: its name, or why it was rejected.
fn told(transformed: &Transformed, rows: usize) -> Vec<Result<String, String>> {
    let mut told = vec![Err("it is nowhere".to_owned()); rows];
    for rejection in &transformed.rejected {
        told[rejection.row as usize] = Err(format!("rejected: {}", rejection.message));
    }
    let batch = Rows::parse(&transformed.batch.bytes).expect("the batch is sound");
    batch.verify().expect("its cells are sound");
    for row in batch.rows() {
        let row = row.expect("it was verified");
        let [Ok(Cell::Value(id)), Ok(Cell::Value(name))] = [row.cell(0), row.cell(1)] else {
            panic!("a row without id or name")
        };
        let id = i64::from_le_bytes(id.try_into().expect("eight bytes"));
        let at = usize::try_from(id).expect("an id that was given") - 1;
        told[at] = Ok(String::from_utf8(name.to_vec()).expect("text is UTF-8"));
    }
    told
}

async fn try_all(compiler: &LanguageCompiler, source: &str, ways: &[(&str, Becomes)]) {
    let script = compiler.compile("odd", source).unwrap_or_else(|error| panic!("{error:?}"));
    let mut instance = fixture::instance(&script, Limits::script(), Arc::new(NoLog)).await;
    instance.open(SETTINGS).await.expect("it opens");
    let rows = ways.len() + 1;
    let given = fixture::users(&vec![Some("a"); rows]);
    let transformed = instance.apply(given).await.unwrap_or_else(|failure| panic!("{failure}"));
    let told = told(&transformed, rows);
    let mut wrong = Vec::new();
    for ((way, becomes), told) in ways.iter().zip(&told) {
        let is_right = match (becomes, told) {
            (Row(expected), Ok(name)) => name == expected,
            (Error(expected), Err(message)) => {
                message.starts_with("rejected: ") && message.contains(expected)
            }
            _ => false,
        };
        if !is_right {
            let told = format!("{told:?}");
            wrong.push(format!(
                "{way}\n    expected {becomes:?}, was {}",
                &told[..told.floor_char_boundary(300)]
            ));
        }
        // One line that people can read.
        let bounds = "rejected: ".len() + 1..3 << 10;
        if told.as_ref().is_err_and(|message| !bounds.contains(&message.len())) {
            wrong.push(format!("{way}\n    has a message that is empty or too long"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(told.last(), Some(&Ok("a".to_owned())), "the record after all of them goes on");
    // And so does the next batch.
    let after = fixture::users(&vec![Some("b"); rows + 1]);
    let transformed = instance.apply(after).await.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(fixture::names(&transformed).last().map(String::as_str), Some("b"));
}

#[tokio::test]
async fn odd_scripts_in_lua_are_errors_of_their_records() {
    let compiler = LanguageCompiler::lua(tarn_bundle::SCRIPT_LUA).expect("the runtime is sound");
    let functions: Vec<_> = IN_LUA.iter().map(|(way, _)| format!("function(r) {way} end")).collect();
    let source = format!(
        "local ways = {{ {} }}\nfunction onRecord(r)\n local way = ways[r.row.id]\n if way then return way(r) end\n return r\nend",
        functions.join(",\n")
    );
    try_all(&compiler, &source, IN_LUA).await;
}

#[tokio::test]
async fn odd_scripts_in_javascript_are_errors_of_their_records() {
    let compiler =
        LanguageCompiler::javascript(tarn_bundle::SCRIPT_JAVASCRIPT).expect("the runtime is sound");
    let functions: Vec<_> = IN_JAVASCRIPT.iter().map(|(way, _)| format!("r => {{ {way} }}")).collect();
    let source = format!(
        "let kept, keptRow, later;\nconst ways = [{}];\nexport function onRecord(r) {{\n  const way = ways[Number(r.row.id) - 1];\n  return way ? way(r) : r;\n}}",
        functions.join(",\n")
    );
    try_all(&compiler, &source, IN_JAVASCRIPT).await;
}
