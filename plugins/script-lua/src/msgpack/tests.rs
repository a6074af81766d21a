use crate::lua::tests::run;

fn pack(expression: &str) -> Result<String, String> {
    run(&format!(
        "local mp, json = require 'msgpack', require 'json'
         return ((({expression})):gsub('.', function(c) return ('%02x'):format(c:byte()) end))"
    ))
}

fn says(expression: &str) -> Result<String, String> {
    run(&format!("local mp, json = require 'msgpack', require 'json' return {expression}"))
}

fn packs(cases: &[(&str, &str)]) {
    for (value, hex) in cases {
        assert_eq!(pack(&format!("mp.encode({value})")).as_deref(), Ok(&*hex.replace(' ', "")), "{value}");
    }
}

#[test]
fn lua_values_have_their_shortest_form() {
    packs(&[
        ("nil", "c0"),
        ("false", "c2"),
        ("true", "c3"),
        ("10", "0a"),
        ("127", "7f"),
        ("128", "d1 0080"),
        ("-31", "e1"),
        ("-32", "d0 e0"),
        ("-128", "d0 80"),
        ("-129", "d1 ff7f"),
        ("32768", "d2 00008000"),
        ("-2147483649", "d3 ffffffff7fffffff"),
        ("math.maxinteger", "d3 7fffffffffffffff"),
        ("6 / 2", "03"),
        ("2 ^ 53", "d3 0020000000000000"),
        ("10.5", "ca 41280000"),
        ("10.1", "cb 4024333333333333"),
        ("-0.0", "ca 80000000"),
        ("2 ^ 63", "ca 5f000000"),
        ("1 / 0", "ca 7f800000"),
        ("'abc'", "a3 616263"),
        ("''", "a0"),
        ("'ü'", "a2 c3bc"),
        ("'\\255\\0'", "c4 02 ff00"),
        ("{}", "80"),
        ("{1, 2, 3}", "93 010203"),
        ("{1, nil, 3}", "93 01c003"),
        ("{b = 1, a = 'x'}", "82 a161a178 a16201"),
        ("{[7] = true, a = 1}", "82 07c3 a16101"),
        ("json.decode'[]'", "90"),
        ("(-1).u64", "cf ffffffffffffffff"),
        (
            "peerdb.Decimal('1e30').bigint",
            "bf 31303030303030303030303030303030303030303030303030303030303030",
        ),
    ]);
    for (length, hex) in [(31, "bf"), (32, "d920"), (256, "da0100"), (65536, "db00010000")] {
        assert_eq!(
            pack(&format!("mp.encode(('x'):rep({length})):sub(1, -{length} - 1)")).as_deref(),
            Ok(hex)
        );
    }
    for (length, hex) in [(15, "9f"), (16, "dc0010"), (65536, "dd00010000")] {
        let items = format!("(function() local t = {{}} for i = 1, {length} do t[i] = 1 end return t end)()");
        assert_eq!(pack(&format!("mp.encode({items}):sub(1, -{length} - 1)")).as_deref(), Ok(hex));
    }
}

#[test]
fn values_of_the_runtime_have_a_form() {
    packs(&[
        ("peerdb.Decimal('10.20')", "a5 31302e3230"),
        ("peerdb.UUID('02030507-0b0d-1113-7f83-898b9597f1fb')", "c4 10 020305070b0d11137f83898b9597f1fb"),
        ("peerdb.unix_epoch", "d6 ff 00000000"),
        ("peerdb.Time(1.5)", "d7 ff 7735940000000001"),
        ("peerdb.Time(-1)", "c7 0c ff 00000000 ffffffffffffffff"),
        ("peerdb.Time(4294967296)", "d7 ff 0000000100000000"),
        ("peerdb.Time(17179869184)", "c7 0c ff 00000000 0000000400000000"),
        ("peerdb.Time('1970-01-02')", "d6 ff 00015180"),
        ("peerdb.Time('00:00:10')", "d6 ff 0000000a"),
        ("peerdb.Time('00:00:10+01')", "ab 30303a30303a31302b3031"),
        ("peerdb.Interval(0, 1)", "a5 3120646179"),
    ]);
}

#[test]
fn marks_choose_the_form() {
    packs(&[
        ("mp.raw'asdf'", "61736466"),
        ("mp.array{}", "90"),
        ("mp.array{1}", "91 01"),
        ("mp.map{}", "80"),
        ("mp.map{1}", "81 0101"),
        ("mp.array(nil)", "c0"),
        ("mp.map()", "c0"),
        ("mp.bin'a'", "c4 01 61"),
        ("mp.str'\\255'", "a1 ff"),
        ("mp.signed(200)", "d1 00c8"),
        ("mp.unsigned(200)", "cc c8"),
        ("mp.unsigned(127)", "7f"),
        ("mp.unsigned(65535)", "cd ffff"),
        ("mp.unsigned(2 ^ 32)", "cf 0000000100000000"),
        ("mp.unsigned((-1).u64)", "cf ffffffffffffffff"),
        ("mp.unsigned('18446744073709551615')", "cf ffffffffffffffff"),
        ("mp.signed('-5')", "fb"),
        ("mp.f32(1)", "ca 3f800000"),
        ("mp.f64(1)", "cb 3ff0000000000000"),
        ("mp.f64(peerdb.Decimal('0.5'))", "cb 3fe0000000000000"),
        ("mp.time(1)", "d6 ff 00000001"),
        ("mp.time32(1.5)", "d6 ff 00000001"),
        ("mp.time64(1)", "d7 ff 0000000000000001"),
        ("mp.time96(1)", "c7 0c ff 00000000 0000000000000001"),
        ("mp.time('1970-01-01T00:00:01Z')", "d6 ff 00000001"),
        ("mp.time96(peerdb.Time(-0.5))", "c7 0c ff 1dcd6500 ffffffffffffffff"),
        ("mp.ext(10, mp.encode(-2) .. peerdb.Decimal('10.25').coefficient.bytes)", "c7 03 0a fe0401"),
        ("mp.ext(-128, 'a')", "d4 80 61"),
        ("mp.ext(1, 'ab')", "d5 01 6162"),
        ("json.bin'a'", "c4 01 61"),
        ("json.array{}", "90"),
        ("setmetatable({}, {__msgpack = function() return 1 end})", "01"),
        (
            "setmetatable({}, {__msgpack = function() return setmetatable({}, {__msgpack = function() return mp.bin'a' end}) end})",
            "c4 01 61",
        ),
        ("setmetatable({b = 1, a = 2}, {__order = {'b'}})", "82 a16201 a16102"),
    ]);
    for (length, hex) in
        [(0, "c70001"), (3, "c70301"), (16, "d801"), (256, "c8010001"), (65536, "c90001000001")]
    {
        let expression = format!("mp.encode(mp.ext(1, ('x'):rep({length}))):sub(1, {})", hex.len() / 2);
        assert_eq!(pack(&expression).as_deref(), Ok(hex));
    }
}

#[test]
fn what_has_no_form_is_an_error() {
    for (value, reason) in [
        ("mp.encode(print)", "a function value has no MessagePack form"),
        ("mp.encode{1, a = 1}", "both items and fields"),
        ("mp.encode{[1.5] = 1}", "both items and fields"),
        ("mp.encode((function() local t = {} t.t = t return t end)())", "nested too deeply"),
        ("mp.encode(peerdb.Time'infinity')", "an infinite time"),
        ("mp.encode(json.raw'1')", "json.raw"),
        ("mp.encode(mp.time32(-1))", "beyond what msgpack.time32 holds"),
        ("mp.encode(mp.time64(2 ^ 40))", "beyond what msgpack.time64 holds"),
        ("mp.encode(setmetatable({}, {__msgpack = function() error('mine') end}))", "script:1: mine"),
        ("mp.signed(1.5)", "msgpack.signed takes a whole number"),
        ("mp.unsigned(-1)", "msgpack.unsigned takes a whole number of 64 bits without a sign"),
        ("mp.f32('x')", "msgpack.f32 takes a number"),
        ("mp.f32(1e300)", "the number is beyond what msgpack.f32 holds"),
        ("mp.time('yesterday')", "msgpack.time takes seconds"),
        ("mp.time(peerdb.Time'infinity')", "msgpack.time takes seconds"),
        ("mp.ext(200, 'x')", "from -128 to 127"),
        ("mp.ext(1, 5)", "the data of an extension is a string"),
        ("mp.array(5)", "msgpack.array takes a table"),
        ("mp.str(5)", "msgpack.str takes a string"),
    ] {
        let error = says(value).expect_err(value);
        assert!(error.contains(reason), "{value}: {error}");
    }
}

#[test]
fn what_was_encoded_is_decoded() {
    for value in [
        "0",
        "-1",
        "127",
        "-32",
        "-128",
        "255",
        "65536",
        "-2147483649",
        "math.mininteger",
        "0.5",
        "10.1",
        "1e300",
        "true",
        "''",
        "'Zürich'",
        "('x'):rep(70000)",
        "'\\255\\0'",
        "peerdb.Time('2024-02-29 12:34:56.789Z')",
        "peerdb.Time(-5)",
        "(-1).u64",
    ] {
        let same = says(&format!("mp.decode(mp.encode({value})) == {value}"));
        assert_eq!(same.as_deref(), Ok("true"), "{value}");
    }
    for (expression, value) in [
        (
            "json.encode(mp.decode(mp.encode{1, {a = {}, b = {x = 'y'}}, false}))",
            r#"[1,{"a":{},"b":{"x":"y"}},false]"#,
        ),
        ("json.encode(mp.decode(mp.encode(mp.array{1, nil, 3})))", "[1,null,3]"),
        ("mp.decode('\\x92\\xc0\\xc0').n", "2"),
        ("mp.decode('\\x81\\x07\\xc3')[7]", "true"),
        (
            "mp.decode(mp.encode(mp.ext(5, 'abc'))).type .. mp.decode(mp.encode(mp.ext(5, 'abc'))).data",
            "5abc",
        ),
        ("mp.encode(mp.decode(mp.encode(mp.ext(5, 'abc')))) == mp.encode(mp.ext(5, 'abc'))", "true"),
        ("mp.decode('\\xd7\\xff\\0\\0\\0\\4\\0\\0\\0\\1').type", "-1"),
        ("mp.decode('\\xcf\\x7f\\xff\\xff\\xff\\xff\\xff\\xff\\xff') == math.maxinteger", "true"),
        ("mp.decode('\\xca\\x41\\x28\\0\\0')", "10.5"),
        ("mp.decode('\\xd9\\1a')", "a"),
    ] {
        assert_eq!(says(expression).as_deref(), Ok(value), "{expression}");
    }
}

#[test]
fn what_is_not_messagepack_is_an_error() {
    for (bytes, reason) in [
        ("''", "ends too early"),
        ("'\\xc1'", "byte 1"),
        ("'\\1\\1'", "byte 2"),
        ("'\\xa5abc'", "ends too early"),
        ("'\\xdd\\xff\\xff\\xff\\xff'", "ends too early"),
        ("'\\xdf\\xff\\xff\\xff\\xff\\1'", "ends too early"),
        ("'\\x81\\xc0\\1'", "nil or NaN as a key"),
        ("'\\x81\\xcb\\x7f\\xf8\\0\\0\\0\\0\\0\\0\\1'", "nil or NaN as a key"),
        ("('\\x91'):rep(1000)", "nested too deeply"),
        ("5", "takes a string"),
    ] {
        let error = says(&format!("mp.decode({bytes})")).expect_err(bytes);
        assert!(error.contains(reason), "{bytes}: {error}");
    }
}
