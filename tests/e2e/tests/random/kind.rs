//! The types of columns, with values that are easily got wrong.
//!
//! Left out is what a destination documents that it cannot hold and refuses by name (infinite dates, NaN in a
//! bounded numeric, years after 9999): a mirror stops there, as other tests show.

use super::dice::Dice;

/// The type of a column.
#[derive(Debug)]
pub struct Kind {
    /// Its name in SQL.
    pub sql: &'static str,
    literals: &'static [&'static str],
    /// Wider types that the column can be given, by their names.
    pub wider: &'static [&'static str],
}

/// Where an expression has a number of its own each time.
const NUMBER: &str = "$r";

const fn kind(sql: &'static str, literals: &'static [&'static str]) -> Kind {
    Kind { sql, literals, wider: &[] }
}

const fn widening(
    sql: &'static str,
    literals: &'static [&'static str],
    wider: &'static [&'static str],
) -> Kind {
    Kind { sql, literals, wider }
}

/// Every type that columns are made of. `setup` of the program makes those that a server does not bring.
pub const KINDS: &[Kind] = &[
    kind("bool", &["true", "false"]),
    widening("int2", &["-32768", "32767", "0", "$r % 32768"], &["int4", "int8", "text"]),
    widening("int4", &["-2147483648", "2147483647", "$r"], &["int8", "text"]),
    kind("int8", &["-9223372036854775808", "9223372036854775807", "9007199254740993", "$r"]),
    kind("oid", &["4294967295", "$r"]),
    widening("float4", &["0.1", "'NaN'", "'-Infinity'", "1e-40", "123456.7", "'-0'", "$r"], &["float8"]),
    kind(
        "float8",
        &["0.1", "'NaN'", "'Infinity'", "5e-324", "1e22", "-1.5", "'-0'", "1.7976931348623157e308"],
    ),
    kind(
        "numeric",
        &[
            "0.0012000",
            "1e40",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "-0.000",
            "repeat('9', 300)::numeric",
            "$r / 7.0",
        ],
    ),
    widening("numeric(12,2)", &["1.5", "-9999999999.99", "$r / 100.0"], &["numeric(20,2)", "numeric(24,6)"]),
    kind("numeric(20,2)", &["999999999999999999.99", "$r / 100.0"]),
    kind("numeric(24,6)", &["-0.000001", "$r / 7.0"]),
    kind("numeric(60,0)", &["repeat('9', 60)::numeric", "-1"]),
    kind("numeric(4,-2)", &["123456", "-50"]),
    kind("numeric(100,20)", &["1e70", "0.1"]),
    kind(
        "text",
        &[
            "''",
            "'it''s'",
            "E'tab\\tnew\\nline\\r\\\\N\\\\'",
            "'名前 😀 e\u{301}'",
            "'\\N'",
            "E'\\u0001\\u007f'",
            "'NULL'",
            "' blank '",
            "'t' || $r",
            "(SELECT string_agg(md5(($r + g)::text), '') FROM generate_series(1, 90) g)",
        ],
    ),
    widening("varchar(20)", &["'x '", "''", "'v' || $r"], &["varchar(40)", "text"]),
    kind("varchar(40)", &["repeat('é', 40)"]),
    kind("char(5)", &["'ab'", "''", "'abcde'"]),
    kind("citext", &["'MiXed'", "'mixed'"]),
    kind(
        "bytea",
        &[
            "'\\x00ff5c0a'",
            "''",
            "decode(md5($r::text), 'hex')",
            "(SELECT string_agg(decode(md5(($r + g)::text), 'hex'), '') FROM generate_series(1, 180) g)",
        ],
    ),
    kind(
        "date",
        &[
            "'2026-03-04'",
            "'0001-12-31 BC'",
            "'0001-01-01'",
            "'9999-12-31'",
            "'1970-01-01'",
            "date '2000-01-01' + $r % 9999",
        ],
    ),
    kind("time", &["'23:59:59.999999'", "'24:00:00'", "'00:00:00'", "'12:30:00.5'"]),
    kind("timetz", &["'24:00:00+00'", "'12:00:00+05:30'", "'12:00:00.10-15:59:59'"]),
    widening(
        "timestamp(3)",
        &["'2026-03-04 05:06:07.123'", "'0001-02-28 00:00:00'", "'9999-12-31 23:59:59.999'"],
        &["timestamp"],
    ),
    kind(
        "timestamp",
        &["'2026-03-04 05:06:07.123456'", "'0001-01-01 00:00:00 BC'", "'1969-12-31 23:59:59.999999'"],
    ),
    kind(
        "timestamptz",
        &[
            "'2026-03-04 05:06:07.8+05:30'",
            "'9999-12-31 23:59:59.999999+00'",
            "timestamptz '2026-10-25 00:59:59Z' + $r % 7200 * interval '1.000001 s'",
        ],
    ),
    kind(
        "interval",
        &[
            "'1 day 00:00:00.123456'",
            "'-1 year -2 months +3 days -04:05:06'",
            "'0'",
            "'100000:00:00'",
            "'178000000 years'",
        ],
    ),
    kind("uuid", &["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "md5($r::text)::uuid"]),
    kind(
        "json",
        &[
            "'{\"id\":  9007199254740993, \"id\": 1}'",
            "'\"\\\\a\\\\b\\\\u00e9\"'",
            "'null'",
            "json_build_object('r', $r)",
        ],
    ),
    kind(
        "jsonb",
        &[
            "'{\"id\": 9007199254740993, \"n\": 1.10}'",
            "'null'",
            "'[]'",
            "jsonb_build_object('r', $r, 'deep', jsonb_build_array(1.0, null, 'é'))",
            "(SELECT jsonb_agg(md5(($r + g)::text)) FROM generate_series(1, 90) g)",
        ],
    ),
    kind("mood", &["'happy'", "'very \"sad\", it''s'"]),
    kind("n2", &["1.5", "-999999.99"]),
    kind("email", &["'a@b'", "'é@' || $r"]),
    kind("moods", &["'{happy,NULL}'", "'{}'"]),
    kind("money", &["1234.5", "'-0.01'"]),
    kind("inet", &["'10.0.0.1/8'", "'::1'"]),
    kind("cidr", &["'10.0.0.0/8'"]),
    kind("macaddr", &["'08:00:2b:01:02:03'"]),
    kind("bit(3)", &["B'101'"]),
    kind("varbit", &["B''", "B'1'"]),
    kind("tsvector", &["to_tsvector('simple', 'it''s a test')", "'''it''''s'' x:3A'"]),
    kind("tsquery", &["'a & b'"]),
    kind("tstzrange", &["tstzrange('2026-01-01Z', null)", "'empty'"]),
    kind("int4range", &["'[1,10)'", "'(,5]'", "'empty'"]),
    kind("numrange", &["'[1.0,1.10]'"]),
    kind("box", &["'(1,2),(3,4)'"]),
    kind("point", &["'(1,2)'", "'(0.1,-1e300)'"]),
    kind("circle", &["'<(1,2),3>'"]),
    kind("path", &["'[(1,2),(3,4)]'"]),
    kind("hstore", &["'\"a\"=>NULL, \"k\\\"q\"=>\"v\"'", "''"]),
    kind("pg_lsn", &["'16/B374D848'"]),
    kind("pair", &["'(1,\"x,y\")'", "row($r, NULL)::pair"]),
    kind(
        "int4[]",
        &["'{}'", "array[1,null,3]", "'{{1,2},{3,4}}'", "'[0:1]={7,8}'", "'[-1:0][2:2]={{1},{2}}'"],
    ),
    kind("int8[]", &["'{9007199254740993,-9223372036854775808}'", "array[$r::bigint]"]),
    kind(
        "text[]",
        &[
            "'{{NULL},{NULL}}'",
            "array['a,b','c\"d','e\\f','','NULL',null,'{x}','né']",
            "(SELECT array_agg(md5(($r + g)::text)) FROM generate_series(1, 90) g)",
        ],
    ),
    kind("numeric(10,2)[]", &["'{1.5,NaN}'", "'{}'"]),
    kind("float8[]", &["'{0.1,NaN,-Infinity,NULL}'"]),
    kind("timestamptz[]", &["array['2026-03-04 05:06:07Z'::timestamptz, 'infinity', null]"]),
    kind("date[]", &["'{0002-02-10 BC,infinity}'"]),
    kind("bytea[]", &["array['\\x00ff'::bytea, '']"]),
    kind("jsonb[]", &["array['{\"a\": \"b\\\"c\"}'::jsonb]"]),
    kind("uuid[]", &["'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"]),
    kind("mood[]", &["'{happy,\"very \\\"sad\\\", it''s\"}'"]),
    kind("int4[] NOT NULL DEFAULT '{5,NULL}'", &["'{}'", "array[1,null,3]", "array[$r::int]"]),
    kind("text[] NOT NULL DEFAULT '{}'", &["'{}'", "array['a,b','\\',null,'NULL','né']"]),
    kind("timestamp[] NOT NULL DEFAULT '{}'", &["array['2026-03-04 05:06:07.000001'::timestamp, null]"]),
    kind("numeric(10,2)[] NOT NULL DEFAULT '{}'", &["'{1.50,NULL,-0.01}'"]),
    kind("text NOT NULL DEFAULT 'it''s'", &["''", "'t' || $r"]),
    kind("bool NOT NULL DEFAULT false", &["true", "false"]),
    kind("timestamptz NOT NULL DEFAULT '2026-01-01 12:30:00+02'", &["'1969-12-31 23:59:59.999999Z'"]),
    kind("numeric(12,2) NOT NULL DEFAULT 1.5", &["-0.01"]),
    kind("uuid NOT NULL DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", &["md5($r::text)::uuid"]),
];

impl Kind {
    /// The kind of a name.
    pub fn named(sql: &str) -> &'static Self {
        KINDS.iter().find(|kind| kind.sql == sql).unwrap_or_else(|| panic!("a kind {sql}"))
    }

    /// Its type, without what else its column is.
    pub fn name(&self) -> &'static str {
        self.sql.split_once(" NOT NULL").map_or(self.sql, |(name, _)| name)
    }

    /// Whether a column of it has a value in every row, its default where none is given.
    pub fn is_never_null(&self) -> bool {
        self.sql.contains("NOT NULL")
    }

    /// An expression of one of its values, or NULL.
    pub fn value(&self, dice: &mut Dice, moods: &[String]) -> String {
        if !self.is_never_null() && dice.chance(15) {
            return "NULL".to_owned();
        }
        if self.sql == "mood" && !moods.is_empty() && dice.chance(50) {
            return format!("'{}'", dice.pick(moods));
        }
        dice.pick(self.literals).replace(NUMBER, &format!("({})", dice.below(1_000_000)))
    }

    /// A value that can stand as a default: the same for every row.
    pub fn default(&self, dice: &mut Dice) -> Option<String> {
        let constant: Vec<_> = self
            .literals
            .iter()
            .filter(|literal| !literal.contains(NUMBER) && !literal.contains("SELECT"))
            .collect();
        (!constant.is_empty()).then(|| (*dice.pick(&constant)).to_string())
    }
}
