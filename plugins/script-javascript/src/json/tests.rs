//! JSON in and out.

use crate::runtime::tests::says;

#[test]
fn values_are_encoded_exactly() {
    for (value, json) in [
        ("null", "null"),
        ("true", "true"),
        ("5", "5"),
        ("-0", "0"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1e21", "1e+21"),
        ("2 ** 53", "9007199254740992"),
        ("1e-7", "1e-7"),
        ("2n ** 64n", "18446744073709551616"),
        ("-9223372036854775808n", "-9223372036854775808"),
        ("'a\"\\\\\\n\\u0001é\\u{1f600}'", "\"a\\\"\\\\\\n\\u0001é\u{1f600}\""),
        ("tarn.Decimal('1.50')", "\"1.50\""),
        ("tarn.Time('2024-05-17T08:30:00.5Z')", "\"2024-05-17T08:30:00.5Z\""),
        ("tarn.Time('2024-05-17')", "\"2024-05-17\""),
        ("tarn.Interval(1, 2, 3)", "\"1 mon 2 days 00:00:00.000003\""),
        ("new Uint8Array([1, 2, 255])", "\"AQL/\""),
        ("new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
        ("[1, undefined, [], {}]", "[1,null,[],{}]"),
        ("{ b: 1, a: undefined, 7: 'x', [Symbol('s')]: 1 }", "{\"7\":\"x\",\"b\":1}"),
        ("{ toJSON() { return [this.x] }, x: 1n }", "[1]"),
        ("Object.create({ inherited: 1 })", "{}"),
        ("tarn.json.raw('{\"a\":  1.10}')", "{\"a\":  1.10}"),
        ("[new String('x'), new Number(5.5), new Boolean(false), Object(5n)]", "[\"x\",5.5,false,5]"),
        ("new Proxy([1, [2]], {})", "[1,[2]]"),
        ("new Proxy({ a: 1 }, {})", "{\"a\":1}"),
        (
            "{ a: { toJSON(key) { return key } }, b: [{ toJSON(key) { return key } }] }",
            "{\"a\":\"a\",\"b\":[\"0\"]}",
        ),
    ] {
        assert_eq!(says(&format!("tarn.json.encode({value})")), json, "{value}");
    }
}

#[test]
fn options_say_how() {
    for (value, options, json) in [
        ("tarn.Decimal('1.50')", "numeric: 'number'", "1.50"),
        ("new Uint8Array([1, 255])", "bytes: 'hex'", "\"\\\\x01ff\""),
        ("[NaN, -Infinity]", "nan: 'null'", "[null,null]"),
        (
            "[NaN, -Infinity, tarn.Decimal('NaN')]",
            "nan: 'text', numeric: 'number'",
            "[\"NaN\",\"-Infinity\",\"NaN\"]",
        ),
    ] {
        assert_eq!(says(&format!("tarn.json.encode({value}, {{ {options} }})")), json, "{value}");
        let set = format!("(tarn.json.options({{ {options} }}), tarn.json.encode({value}))");
        assert_eq!(says(&set), json, "{value}");
    }
    for (options, reason) in [
        ("{ nun: 'null' }", "there is no option \"nun\" for JSON"),
        ("{ nan: 5 }", "the option nan for JSON is \"error\", \"null\" or \"text\""),
        ("5", "options for JSON are an object, not a number"),
    ] {
        let said = says(&format!("attempt(() => tarn.json.encode(1, {options}))"));
        assert!(said.contains(reason), "{options}: {said}");
    }
}

#[test]
fn what_has_no_form_is_an_error() {
    for (value, reason) in [
        ("undefined", "undefined has no JSON form"),
        ("() => 1", "a function has no JSON form"),
        ("Symbol()", "a symbol has no JSON form"),
        ("new Map()", "a collection has no JSON form"),
        ("new Set([1])", "a collection has no JSON form"),
        ("Promise.resolve(1)", "a collection has no JSON form"),
        ("[NaN]", "NaN and infinities have no JSON form"),
        ("'\\ud800'", "half a pair of surrogates"),
        ("tarn.json.raw('{')", "what tarn.json.raw was given is not JSON"),
        ("tarn.msgpack.f32(1)", "what a function of tarn.msgpack marked has no JSON form"),
        ("(() => { const a = {}; a.a = a; return a })()", "nested too deeply"),
        ("{ toJSON() { throw new Error('mine') } }", "Error: mine"),
        ("{ toJSON() { return this } }", "nested too deeply"),
    ] {
        let said = says(&format!("attempt(() => tarn.json.encode({value}))"));
        assert!(said.contains(reason), "{value}: {said}");
    }
}

#[test]
fn text_is_decoded_exactly() {
    for (text, expression, said) in [
        ("[1, 2.5, -3e2, true, null]", "v.map(x => typeof x)", "number,number,number,boolean,object"),
        ("9007199254740991", "typeof v + v", "number9007199254740991"),
        ("9007199254740993", "typeof v + v", "bigint9007199254740993"),
        ("-123456789012345678901234567890", "typeof v + v", "bigint-123456789012345678901234567890"),
        ("{\"a\": {\"b\": [\"\\u00e9\\ud83d\\ude00\\n\"]}}", "v.a.b[0]", "é\u{1f600}\n"),
        ("{\"a\": 1, \"a\": 2}", "Object.entries(v)", "a,2"),
        ("{\"__proto__\": 1}", "Object.keys(v)", "__proto__"),
    ] {
        let given = serde_json::to_string(text).expect("a text is JSON");
        assert_eq!(says(&format!("(v => {expression})(tarn.json.decode({given}))")), said, "{text}");
        let bytes = format!("(v => {expression})(tarn.json.decode(tarn.encodeText({given})))");
        assert_eq!(says(&bytes), said, "{text}");
    }
    let exact = r#"{"z":1.50,"a":[1e2,-0.0,12345678901234567890.10,null,"x"]}"#;
    assert_eq!(says(&format!("tarn.json.encode(tarn.json.decode('{exact}', true))")), exact);
    for (text, reason) in [
        ("", "it ends too early"),
        ("[1,]", "at byte 4"),
        ("{a: 1}", "at byte 2"),
        ("01", "at byte 2"),
        ("\"\\ud800\"", "at byte 8"),
        ("nul", "at byte 1"),
        ("[1] x", "at byte 5"),
    ] {
        let given = serde_json::to_string(text).expect("a text is JSON");
        let said = says(&format!("attempt(() => tarn.json.decode({given}))"));
        assert!(said.starts_with("SyntaxError: this is not JSON") && said.contains(reason), "{text}: {said}");
    }
    assert!(says("attempt(() => tarn.json.decode('['.repeat(65)))").contains("nested too deeply"));
    assert!(
        says("attempt(() => tarn.json.decode(5))").contains("takes a string or a Uint8Array, not a number")
    );
}
