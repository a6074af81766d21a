use crate::lua::tests::run;

fn json(expression: &str) -> Result<String, String> {
    run(&format!("local json = require 'json' return {expression}"))
}

fn encodes(cases: &[(&str, &str)]) {
    for (value, text) in cases {
        assert_eq!(json(&format!("json.encode({value})")).as_deref(), Ok(*text), "{value}");
    }
}

#[test]
fn numbers_are_exact_in_both_directions() {
    for text in [
        "0",
        "-5",
        "1618065507111835497",
        "9223372036854775807",
        "951824235837328",
        "9007199263392129",
        "0.1",
        "1.5e+300",
        "92233720368547758080",
        "1e-7",
        "123456.789",
    ] {
        assert_eq!(json(&format!("json.encode(json.decode('{text}'))")).as_deref(), Ok(text));
    }
    assert_eq!(json("math.type(json.decode('5'))").as_deref(), Ok("integer"));
    assert_eq!(json("math.type(json.decode('5.0'))").as_deref(), Ok("float"));
    assert_eq!(json("peerdb.type(json.decode('92233720368547758080'))").as_deref(), Ok("*big.Int"));
    encodes(&[
        ("{1.0, -0.0, 2^53, 1e21}", "[1,0,9007199254740992,1e+21]"),
        ("{1.618065507111835497e18, 951824235837328.0, 6 / 2}", "[1618065507111835392,951824235837328,3]"),
        ("(-1).u64", "18446744073709551615"),
    ]);
}

#[test]
fn text_survives() {
    for text in [r#""""#, r#""a\"b\\c\n\u0001""#, "\"Zürich\u{1f600}\"", "\"<b>&</b>\""] {
        let lua = text.replace('\\', "\\\\").replace('\'', "\\'");
        assert_eq!(json(&format!("json.encode(json.decode('{lua}'))")).as_deref(), Ok(text));
    }
    assert_eq!(json(r#"json.decode('"\\ud83d\\ude00\\u00e4\\/"')"#).as_deref(), Ok("\u{1f600}ä/"));
    // An escaped backslash before a `u` begins no escape (B041).
    assert_eq!(json(r#"json.decode('"\\\\a\\\\b\\\\ufoobar"')"#).as_deref(), Ok("\\a\\b\\ufoobar"));
}

#[test]
fn tables_are_arrays_or_objects() {
    encodes(&[
        ("{b = 1, a = {true, false}, c = {}}", r#"{"a":[true,false],"b":1,"c":{}}"#),
        ("json.decode('[1, null, [], {\"x\": null}]')", "[1,null,[],{}]"),
        ("{1, nil, 3}", "[1,null,3]"),
        ("{[5] = 1, a = 2}", r#"{"5":1,"a":2}"#),
        ("{[10] = 1, [9] = 2}", r#"{"9":2,"10":1}"#),
        ("nil", "null"),
        ("{{{1, 2, {a = 'b'}, 4}}}", r#"[[[1,2,{"a":"b"},4]]]"#),
    ]);
    assert_eq!(json("json.decode('[null, null]').n").as_deref(), Ok("2"));
}

#[test]
fn values_have_the_form_that_consumers_know() {
    encodes(&[
        ("peerdb.Decimal('1.10')", "\"1.10\""),
        ("peerdb.Decimal('NaN')", "\"NaN\""),
        ("peerdb.Decimal('10.2').coefficient", "102"),
        ("{peerdb.unix_epoch}", "[\"1970-01-01T00:00:00Z\"]"),
        ("peerdb.Time('2024-02-29 12:34:56.789')", "\"2024-02-29T12:34:56.789Z\""),
        ("peerdb.Time('2024-02-29')", "\"2024-02-29\""),
        ("peerdb.Time('12:34:56.5')", "\"12:34:56.5\""),
        ("peerdb.Time('0044-03-15 12:00:00 BC')", "\"0044-03-15 12:00:00 BC\""),
        ("peerdb.Time('infinity')", "\"infinity\""),
        ("peerdb.Interval(1, 2, 3)", "\"1 mon 2 days 00:00:00.000003\""),
        ("peerdb.UUID('00010203-0405-0607-0809-0A0B0C0D0E0F')", "\"00010203-0405-0607-0809-0a0b0c0d0e0f\""),
    ]);
}

#[test]
fn marks_say_how_a_value_is_written() {
    encodes(&[
        ("json.array{}", "[]"),
        ("json.object{}", "{}"),
        ("json.array{1, 2}", "[1,2]"),
        ("json.object{[1] = 2, aaa = 'b\"bb'}", r#"{"1":2,"aaa":"b\"bb"}"#),
        ("json.object({a = 1, b = 2, c = 3}, {'c', 'x', 'b'})", r#"{"c":3,"b":2,"a":1}"#),
        ("{json.array(nil), json.object(), json.null}", "[null,null,null]"),
        ("json.raw' {\"a\": 1.10}'", " {\"a\": 1.10}"),
        ("json.bin'\\0\\1\\255\\7'", "\"AAH/Bw==\""),
        ("{json.bin'', json.bin'a', json.bin'ab'}", r#"["","YQ==","YWI="]"#),
        ("setmetatable({}, {__json = function() return {1} end})", "[1]"),
        ("setmetatable({x = 5}, {__json = function(t) return t.x end})", "5"),
        ("setmetatable({}, {__json = function() return json.raw(json.encode{a = 1}) end})", r#"{"a":1}"#),
        ("setmetatable({b = 1, a = 2}, {__order = {'b'}})", r#"{"b":1,"a":2}"#),
    ]);
    for (expression, value) in [
        ("select(2, json.unmark(json.raw'1')) == json.raw", "true"),
        ("select(2, json.unmark(json.array{})) == json.array", "true"),
        ("select(2, json.unmark(json.object{})) == json.object", "true"),
        ("select(2, json.unmark(json.bin'x')) == json.bin", "true"),
        ("select('#', json.unmark(5))", "1"),
        ("json.unmark(json.raw'91.5')", "91.5"),
        ("#json.unmark(json.array{1, 2})", "2"),
        ("#json.array{1, 2} .. json.array{7}[1] .. json.object{a = 8}.a", "278"),
        ("json.raw'x'", "x"),
    ] {
        assert_eq!(json(expression).as_deref(), Ok(value), "{expression}");
    }
}

#[test]
fn an_exact_document_is_the_same_after_its_way_through_a_script() {
    for text in [
        "null",
        "[]",
        "{}",
        "[null]",
        "1.10",
        "12345678901234567890.123456789012345678901234567890",
        "1E5",
        r#"{"z":1.0,"a":[null,{},[]],"m":{"y":"ü","b":false}}"#,
    ] {
        assert_eq!(json(&format!("json.encode(json.decode('{text}', true))")).as_deref(), Ok(text));
    }
    assert_eq!(json("json.decode('{\"a\": [1.50]}', true).a[1]").as_deref(), Ok("1.50"));
    assert_eq!(json("json.unmark(json.decode('91.50', true))").as_deref(), Ok("91.50"));
}

#[test]
fn options_choose_the_form() {
    for (value, options, text) in [
        ("peerdb.Decimal('1.10')", "{numeric = 'number'}", "1.10"),
        ("peerdb.Decimal('NaN')", "{numeric = 'number', nan = 'null'}", "null"),
        ("{0/0, 1/0, -1/0}", "{nan = 'null'}", "[null,null,null]"),
        ("{0/0, 1/0, -1/0}", "{nan = 'text'}", r#"["NaN","Infinity","-Infinity"]"#),
        ("json.bin'\\0\\255'", "{bytes = 'hex'}", r#""\\x00ff""#),
    ] {
        assert_eq!(json(&format!("json.encode({value}, {options})")).as_deref(), Ok(text), "{value}");
    }
    let chunk = "local json = require 'json' json.options{numeric = 'number'}
                 return json.encode{peerdb.Decimal('1.10'), json.encode(peerdb.Decimal('1'), {numeric = 'text'})}";
    assert_eq!(run(chunk).as_deref(), Ok(r#"[1.10,"\"1\""]"#));
    for (options, reason) in [
        ("{numeric = 'float'}", "the option numeric for JSON is \"text\" or \"number\""),
        ("{nan = true}", "the option nan for JSON is \"error\", \"null\" or \"text\""),
        ("{numbers = 'text'}", "there is no option \"numbers\" for JSON"),
        ("5", "options for JSON are a table"),
    ] {
        let error = json(&format!("json.encode(1, {options})")).expect_err(options);
        assert!(error.contains(reason), "{options}: {error}");
    }
}

#[test]
fn what_has_no_json_form_is_an_error() {
    for (value, reason) in [
        ("0/0", "NaN and infinities"),
        ("print", "a function value"),
        ("coroutine.create(print)", "a thread value"),
        ("{1, a = 2}", "both items and fields"),
        ("{[true] = 1}", "both items and fields"),
        ("{[1.5] = 1}", "both items and fields"),
        ("'\\255'", "not UTF-8"),
        ("{['\\255'] = 1}", "not UTF-8"),
        ("(function() local t = {} t.t = t return t end)()", "nested too deeply"),
        ("json.raw'{'", "json.raw was given is not JSON"),
        ("require('msgpack').ext(1, 'x')", "a function of msgpack"),
        ("setmetatable({}, {__json = function() error('mine') end})", "script:1: mine"),
        ("setmetatable({}, {__json = function(t) return t end})", "nested too deeply"),
        ("(function() local t = json.decode'[1]' t.x = 1 return t end)()", "both items and fields"),
    ] {
        let error = json(&format!("json.encode({value})")).expect_err(value);
        assert!(error.contains(reason), "{value}: {error}");
    }
    for call in ["array(5)", "object('x')", "raw(5)", "bin({})", "decode(5)", "options()"] {
        assert!(json(&format!("json.{call}")).is_err(), "{call}");
    }
    let caught = run("local json = require 'json'
                      local t = setmetatable({}, {__json = function() error({code = 7}) end})
                      local ok, e = pcall(json.encode, {t}) return e.code .. json.encode{1}");
    assert_eq!(caught.as_deref(), Ok("7[1]"));
}

#[test]
fn script_code_may_encode_and_change_tables_while_one_is_encoded() {
    let chunk = "local json = require 'json'
        local whole = {a = 1, b = 2, c = 3, z = 9}
        whole.b = setmetatable({}, {__json = function()
          whole.a, whole.c, whole.d = nil, nil, 4
          for i = 1, 100 do local s = ('k'):rep(i) whole[s] = nil end
          collectgarbage()
          return json.encode{x = {1, 2}}
        end})
        return json.encode(whole)";
    assert_eq!(run(chunk).as_deref(), Ok(r#"{"a":1,"b":"{\"x\":[1,2]}","c":null,"z":9}"#));
}

#[test]
fn a_list_that_a_script_made_up_harms_nothing() {
    for (list, text) in [
        ("{'a', 'a', 'b'}", r#"{"a":1,"b":2}"#),
        ("{5, {}, 'b'}", r#"{"b":2,"a":1}"#),
        ("{}", r#"{"a":1,"b":2}"#),
        ("'ab'", r#"{"a":1,"b":2}"#),
    ] {
        let value = format!("setmetatable({{b = 2, a = 1}}, {{__order = {list}}})");
        assert_eq!(json(&format!("json.encode({value})")).as_deref(), Ok(text), "{list}");
    }
    // A list without nil alone can be walked by its names.
    let nil = run("local json = require 'json'
                   local order = {'a', 'b'}
                   local t = setmetatable({a = 1, b = setmetatable({}, {__json = function()
                     order[1], order[2] = {}, nil return 0 end})}, {__order = order, __once = true})
                   return json.encode(t)");
    assert_eq!(nil.as_deref(), Ok(r#"{"a":1,"b":0}"#));
}

#[test]
fn what_is_not_json_is_an_error_with_its_place() {
    for (text, place) in [
        ("", "ends too early"),
        ("[1,]", "byte 4"),
        ("01", "byte 2"),
        ("{a:1}", "byte 2"),
        ("[1 2]", "byte 4"),
        ("\"\\ud800\"", "byte"),
        ("nul", "byte 1"),
        ("\"a", "ends too early"),
        ("1.", "ends too early"),
        ("{} x", "byte 4"),
        ("NaN", "byte 1"),
    ] {
        let lua = text.replace('\\', "\\\\");
        for exact in ["", ", true"] {
            let error = json(&format!("json.decode('{lua}'{exact})")).expect_err(text);
            assert!(error.contains("not JSON") && error.contains(place), "{text}: {error}");
        }
    }
    assert!(
        json(&format!("json.decode('{}')", "[".repeat(1000)))
            .is_err_and(|error| error.contains("nested too deeply"))
    );
}
