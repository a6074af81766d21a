//! Random programs that use the whole API, mostly in ways that nobody meant.

use tarn_script::fixture::{Random, types};

/// How deep expressions are.
const DEPTH: u64 = 4;

const LITERALS: [&str; 26] = [
    "nil",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "7",
    "0.5",
    "-0.0",
    "1e300",
    "2^53",
    "2^63",
    "math.maxinteger",
    "math.mininteger",
    "0/0",
    "1/0",
    "''",
    "'a'",
    "'%d %s'",
    "'\\255\\0'",
    "'2024-02-29'",
    "'12:34:56+01'",
    "'[1, {\"a\": null}]'",
    "'1.50'",
    "'00010203-0405-0607-0809-0a0b0c0d0e0f'",
    "'é'",
];

const SUBJECTS: [&str; 14] = [
    "r",
    "r.row",
    "r.old",
    "r.new",
    "r.kind",
    "r.commit_time",
    "r.checkpoint",
    "r.transaction_id",
    "r.unchanged_columns",
    "peerdb.unix_epoch",
    "a",
    "b",
    "t",
    "kept",
];

const MEMBERS: [&str; 34] = [
    "coefficient",
    "coefficient64",
    "exponent",
    "bigint",
    "int64",
    "float64",
    "sign",
    "is64",
    "bytes",
    "i64",
    "u64",
    "hi",
    "lo",
    "unix_nano",
    "unix_micro",
    "unix",
    "year",
    "month",
    "day",
    "yearday",
    "hour",
    "second",
    "nanosecond",
    "offset",
    "months",
    "days",
    "micros",
    "seconds",
    "type",
    "data",
    "n",
    "c4",
    "nothing",
    "kind",
];

const UNARY: [&str; 44] = [
    "tostring",
    "tonumber",
    "type",
    "peerdb.Decimal",
    "peerdb.Time",
    "peerdb.UUID",
    "peerdb.type",
    "peerdb.tostring",
    "peerdb.RowTable",
    "peerdb.RowColumns",
    "json.encode",
    "json.decode",
    "json.array",
    "json.object",
    "json.raw",
    "json.bin",
    "json.unmark",
    "msgpack.encode",
    "msgpack.decode",
    "msgpack.array",
    "msgpack.map",
    "msgpack.bin",
    "msgpack.str",
    "msgpack.signed",
    "msgpack.unsigned",
    "msgpack.f32",
    "msgpack.f64",
    "msgpack.time",
    "msgpack.time32",
    "msgpack.time64",
    "msgpack.time96",
    "bit32.bnot",
    "math.floor",
    "math.tointeger",
    "math.type",
    "string.upper",
    "string.len",
    "table.getn",
    "table.maxn",
    "unpack",
    "utf8.len",
    "os.date",
    "setmetatable",
    "collectgarbage",
];

const BINARY: [&str; 22] = [
    "peerdb.RowColumnKind",
    "json.decode",
    "json.encode",
    "json.object",
    "msgpack.ext",
    "bit32.band",
    "bit32.bor",
    "bit32.lshift",
    "bit32.arshift",
    "bit32.lrotate",
    "bit32.extract",
    "string.format",
    "string.rep",
    "string.sub",
    "string.find",
    "string.gsub",
    "math.fmod",
    "math.max",
    "table.concat",
    "select",
    "peerdb.Interval",
    "os.difftime",
];

const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "//", "%", "^", "..", "==", "~=", "<", "<=", ">", "and", "or", "&", "|", "~", "<<",
    ">>",
];

/// A whole script.
pub fn write(random: &mut Random) -> String {
    let mut source = String::from(
        "local json, msgpack = require 'json', require 'msgpack'\nlocal kept, t = nil, {}\n\
         local function try(f) local ok, value = pcall(f) return value end\n",
    );
    if random.chance(3) {
        source.push_str(
            "tarn.column('public.users', 'x0', 'bigint') tarn.column('public.users', 'x1', 'text[]')\n",
        );
    }
    let statements: Vec<String> = (0..2 + random.below(6)).map(|_| statement(random, 2)).collect();
    let result = expression(random, DEPTH);
    let body = statements.join("\n  ");
    match random.below(5) {
        0 => source.push_str(&format!(
            "function transformRecord(r)\n  local a, b = r.row, r.old\n  {body}\nend\n"
        )),
        1 => source.push_str(&format!(
            "function transformRow(row)\n  local r = {{ row = row, old = row, new = row }}\n  local a, b = row\n  {body}\nend\n"
        )),
        _ => {}
    }
    let returned = match random.below(4) {
        0 => "r",
        1 => "r.row",
        // Valid JSON where it becomes a message.
        2 => "json.encode(try(function() return RESULT end), { nan = 'text' })",
        _ => "{ value = json.encode(r), key = try(function() return tostring(RESULT) end) }",
    };
    source.push_str(&format!(
        "function onRecord(r)\n  local a, b = r.row, {}\n  {body}\n  return {}\nend\n",
        expression(random, 1),
        returned.replace("RESULT", &result)
    ));
    source
}

fn column(random: &mut Random) -> String {
    match random.below(types().len() as u64 + 2) {
        added @ 0..2 => format!("x{added}"),
        known => format!("c{}", known - 2),
    }
}

fn statement(random: &mut Random, depth: u64) -> String {
    let inner = match random.below(if depth == 0 { 5 } else { 9 }) {
        0 | 1 => format!("r.row.{} = {}", column(random), expression(random, DEPTH)),
        2 => format!("{} = {}", random.one(&["a", "b", "kept", "t.x"]), expression(random, DEPTH)),
        3 => format!("t[#t + 1] = {}", expression(random, DEPTH)),
        4 => format!("print({})", expression(random, DEPTH)),
        5 => format!("for i = 1, 3 do {} end", statement(random, depth - 1)),
        6 => format!(
            "for k, v in pairs({}) do a = v {} end",
            expression(random, 2),
            statement(random, depth - 1)
        ),
        7 => format!(
            "if {} then {} else {} end",
            expression(random, 3),
            statement(random, depth - 1),
            statement(random, depth - 1)
        ),
        _ => format!(
            "for k, v in ipairs({}) do b = v {} end",
            expression(random, 2),
            statement(random, depth - 1)
        ),
    };
    // Most errors are caught, so that what follows runs too.
    if random.chance(12) { inner } else { format!("try(function() {inner} end)") }
}

/// An expression, which is in brackets where that matters.
fn expression(random: &mut Random, depth: u64) -> String {
    if depth == 0 {
        return match random.below(3) {
            0 => (*random.one(&SUBJECTS)).to_owned(),
            1 => format!("r.row.{}", column(random)),
            _ => format!("({})", random.one(&LITERALS)),
        };
    }
    let mut inner = || expression(random, depth - 1);
    let (one, two) = (inner(), inner());
    match random.below(11) {
        0 | 1 => format!("({one} {} {two})", random.one(&OPERATORS)),
        2 => format!("({} {one})", random.one(&["-", "not", "#", "~"])),
        3 | 4 => format!("{}({one})", random.one(&UNARY)),
        5 => format!("{}({one}, {two})", random.one(&BINARY)),
        6 => format!("({one}).{}", random.one(&MEMBERS)),
        7 => format!("({one})[{two}]"),
        8 => match random.below(3) {
            0 => format!("{{ {one}, {two} }}"),
            1 => format!("{{ a = {one}, ['b c'] = {two} }}"),
            _ => format!("{{ [1] = {one}, [{}] = {two} }}", random.below(4)),
        },
        9 => format!(
            "setmetatable({{ {one} }}, {{ {} = function(s) return {two} end }})",
            random.one(&["__json", "__msgpack", "__index", "__tostring", "__len", "__pairs", "__concat"])
        ),
        _ => format!("try(function() return {one} end)"),
    }
}
