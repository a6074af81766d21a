//! Random programs that use the whole API, mostly in ways that nobody meant.

use tarn_script::fixture::{Random, types};

/// How deep expressions are.
const DEPTH: u64 = 4;

const LITERALS: [&str; 30] = [
    "null",
    "undefined",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "7n",
    "0.5",
    "-0",
    "1e300",
    "2 ** 53",
    "2n ** 63n",
    "-(2n ** 63n)",
    "NaN",
    "Infinity",
    "''",
    "'a'",
    "'%d %s'",
    "'\\ud800'",
    "'2024-02-29'",
    "'12:34:56+01'",
    "'[1, {\"a\": null}]'",
    "'1.50'",
    "'00010203-0405-0607-0809-0a0b0c0d0e0f'",
    "'é'",
    "new Uint8Array([1, 255])",
    "new Date(1500)",
    "Symbol.iterator",
    "new Map([[1, 2]])",
];

const SUBJECTS: [&str; 15] = [
    "r",
    "r.row",
    "r.old",
    "r.new",
    "r.kind",
    "r.commitTime",
    "r.checkpoint",
    "r.transactionId",
    "r.unchangedColumns",
    "tarn.Interval(1, 2, 3)",
    "a",
    "b",
    "t",
    "kept",
    "globalThis",
];

const MEMBERS: [&str; 36] = [
    "coefficient",
    "scale",
    "sign",
    "isInteger",
    "isFinite",
    "toNumber",
    "toBigInt",
    "plus",
    "round",
    "kind",
    "epochMicroseconds",
    "epochMilliseconds",
    "year",
    "month",
    "day",
    "dayOfYear",
    "hour",
    "microsecond",
    "offsetSeconds",
    "toDate",
    "months",
    "days",
    "microseconds",
    "totalSeconds",
    "type",
    "value",
    "length",
    "c4",
    "c18",
    "c20",
    "nothing",
    "constructor",
    "prototype",
    "toJSON",
    "then",
    "0",
];

const METHODS: [&str; 22] = [
    "plus",
    "minus",
    "times",
    "over",
    "floorOver",
    "modulo",
    "power",
    "negate",
    "round",
    "compare",
    "equals",
    "since",
    "toDate",
    "toString",
    "toJSON",
    "push",
    "map",
    "concat",
    "slice",
    "at",
    "valueOf",
    "reverse",
];

const UNARY: [&str; 40] = [
    "String",
    "Number",
    "BigInt",
    "Boolean",
    "Object",
    "tarn.Decimal",
    "new tarn.Decimal",
    "tarn.Time",
    "tarn.Time.from",
    "tarn.Time.fromEpochMicroseconds",
    "tarn.Time.fromEpochMilliseconds",
    "tarn.json.encode",
    "tarn.json.encodeBytes",
    "tarn.json.decode",
    "tarn.json.raw",
    "tarn.msgpack.encode",
    "tarn.msgpack.decode",
    "tarn.msgpack.bin",
    "tarn.msgpack.str",
    "tarn.msgpack.raw",
    "tarn.msgpack.signed",
    "tarn.msgpack.unsigned",
    "tarn.msgpack.f32",
    "tarn.msgpack.f64",
    "tarn.msgpack.time",
    "tarn.msgpack.time32",
    "tarn.msgpack.time64",
    "tarn.msgpack.time96",
    "tarn.encodeText",
    "tarn.decodeText",
    "tarn.uuid",
    "JSON.stringify",
    "JSON.parse",
    "Object.keys",
    "Object.entries",
    "Object.freeze",
    "Array.from",
    "Object.getPrototypeOf",
    "new Date",
    "typeof",
];

const BINARY: [&str; 16] = [
    "tarn.kind",
    "tarn.text",
    "tarn.json.decode",
    "tarn.json.encode",
    "tarn.msgpack.ext",
    "tarn.Decimal.compare",
    "tarn.Time.compare",
    "tarn.Interval",
    "Math.max",
    "Object.assign",
    "Object.setPrototypeOf",
    "Reflect.has",
    "Reflect.get",
    "Reflect.deleteProperty",
    "Object.is",
    "Reflect.ownKeys",
];

const OPERATORS: [&str; 23] = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "==",
    "===",
    "!=",
    "<",
    "<=",
    ">",
    "&&",
    "||",
    "??",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    ">>>",
    "in",
    "instanceof",
];

/// A whole script.
pub fn write(random: &mut Random) -> String {
    let mut source = String::from(
        "let kept = null, t = [];\nconst attempt = f => { try { return f() } catch (e) { return e } };\n",
    );
    if random.chance(3) {
        source.push_str(
            "tarn.column('public.users', 'x0', 'bigint'); tarn.column('public.users', 'x1', 'text[]');\n",
        );
    }
    let statements: Vec<String> = (0..2 + random.below(6)).map(|_| statement(random, 2)).collect();
    let result = expression(random, DEPTH);
    let body = statements.join("\n  ");
    match random.below(5) {
        0 => source.push_str(&format!(
            "function transformRecord(r) {{\n  let a = r.row, b = r.old;\n  {body}\n}}\n"
        )),
        1 => source.push_str(&format!(
            "function transformRow(row) {{\n  const r = {{ row, old: row, new: row }};\n  let a = row, b;\n  {body}\n}}\n"
        )),
        _ => {}
    }
    let returned = match random.below(4) {
        0 => "r",
        1 => "r.row",
        // Valid JSON where it becomes a message.
        2 => "tarn.json.encode(attempt(() => RESULT) ?? null, { nan: 'text' })",
        _ => "({ value: tarn.json.encode(r), key: attempt(() => `${RESULT}`) })",
    };
    source.push_str(&format!(
        "{}function onRecord(r) {{\n  let a = r.row, b = {};\n  {body}\n  return {};\n}}\n",
        if random.chance(8) { "async " } else { "" },
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
    let inner = match random.below(if depth == 0 { 6 } else { 10 }) {
        0 | 1 => format!("r.row.{} = {}", column(random), expression(random, DEPTH)),
        2 => format!("{} = {}", random.one(&["a", "b", "kept", "t.x"]), expression(random, DEPTH)),
        3 => format!("t.push({})", expression(random, DEPTH)),
        4 => format!("console.log({})", expression(random, DEPTH)),
        5 => format!("r.row.{}[{}] = {}", column(random), expression(random, 1), expression(random, 2)),
        6 => format!("for (let i = 0; i < 3; i++) {{ {} }}", statement(random, depth - 1)),
        7 => format!(
            "for (const v of {}) {{ a = v; {} }}",
            expression(random, 2),
            statement(random, depth - 1)
        ),
        8 => format!(
            "if ({}) {{ {} }} else {{ {} }}",
            expression(random, 3),
            statement(random, depth - 1),
            statement(random, depth - 1)
        ),
        _ => format!(
            "for (const k in {}) {{ b = k; {} }}",
            expression(random, 2),
            statement(random, depth - 1)
        ),
    };
    // Most errors are caught, so that what follows runs too.
    if random.chance(12) { format!("{inner};") } else { format!("attempt(() => {{ {inner} }});") }
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
    match random.below(12) {
        0 | 1 => match *random.one(&OPERATORS) {
            // A power of a power takes longer than a test may.
            "**" => format!("(({one}) ** 2)"),
            "<<" => format!("(({one}) << 3)"),
            // These may not stand beside each other without brackets.
            operator => format!("(({one}) {operator} ({two}))"),
        },
        2 => format!("({} {one})", random.one(&["-", "!", "~", "void", "typeof"])),
        3 | 4 => format!("{}({one})", random.one(&UNARY)),
        5 => format!("{}({one}, {two})", random.one(&BINARY)),
        6 => match *random.one(&MEMBERS) {
            "0" => format!("({one})[0]"),
            member => format!("({one}).{member}"),
        },
        7 => format!("({one})[{two}]"),
        8 => match random.below(4) {
            0 => format!("[{one}, {two}]"),
            1 => format!("({{ a: {one}, 'b c': {two} }})"),
            2 => format!("({{ ...{one}, [{two}]: 1 }})"),
            _ => format!("(([x, ...y]) => y)([{one}, {two}])"),
        },
        9 => format!(
            "({{ v: {one}, {}() {{ return {two} }} }})",
            random.one(&[
                "toJSON",
                "toMsgpack",
                "toString",
                "valueOf",
                "[Symbol.toPrimitive]",
                "[Symbol.iterator]",
                "get x",
                "then"
            ])
        ),
        10 => format!("({one}).{}({two})", random.one(&METHODS)),
        _ => format!("attempt(() => {one})"),
    }
}
