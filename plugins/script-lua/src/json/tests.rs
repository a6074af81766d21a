use crate::lua::tests::run;

fn json(expression: &str) -> Result<String, String> {
    run(&format!("local json = require 'json' return {expression}"))
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
        "1.5e300",
        "92233720368547758080",
        "1e-7",
        "123456.789",
    ] {
        assert_eq!(json(&format!("json.encode(json.decode('{text}'))")).as_deref(), Ok(text));
    }
    assert_eq!(json("math.type(json.decode('5'))").as_deref(), Ok("integer"));
    assert_eq!(json("math.type(json.decode('5.0'))").as_deref(), Ok("float"));
    assert_eq!(json("json.encode({1.0, -0.0, 2^53, 1e21})").as_deref(), Ok("[1,0,9007199254740992,1e21]"));
}

#[test]
fn text_survives() {
    for text in [r#""""#, r#""a\"b\\c\n\u0001""#, "\"Zürich\u{1f600}\""] {
        let lua = text.replace('\\', "\\\\").replace('\'', "\\'");
        assert_eq!(json(&format!("json.encode(json.decode('{lua}'))")).as_deref(), Ok(text));
    }
    assert_eq!(json(r#"json.decode('"\\ud83d\\ude00\\u00e4\\/"')"#).as_deref(), Ok("\u{1f600}ä/"));
    // An escaped backslash before a `u` begins no escape (B041).
    assert_eq!(json(r#"json.decode('"\\\\a\\\\b\\\\ufoobar"')"#).as_deref(), Ok("\\a\\b\\ufoobar"));
}

#[test]
fn tables_are_arrays_or_objects() {
    assert_eq!(
        json("json.encode({b = 1, a = {true, false}, c = {}})").as_deref(),
        Ok(r#"{"a":[true,false],"b":1,"c":[]}"#)
    );
    assert_eq!(
        json("json.encode(json.decode('[1, null, [], {\"x\": null}]'))").as_deref(),
        Ok("[1,null,[],[]]")
    );
    assert_eq!(json("json.decode('[null, null]').n").as_deref(), Ok("2"));
    assert_eq!(json("json.encode(nil)").as_deref(), Ok("null"));
    assert_eq!(json("json.encode(peerdb.Decimal('1.10'))").as_deref(), Ok("1.10"));
    assert_eq!(json("json.encode({peerdb.unix_epoch})").as_deref(), Ok("[\"1970-01-01 00:00:00+00\"]"));
}

#[test]
fn what_has_no_json_form_is_an_error() {
    for (value, reason) in [
        ("0/0", "NaN and infinities"),
        ("print", "a function value"),
        ("{1, a = 2}", "both items and fields"),
        ("{[5] = 1}", "both items and fields"),
        ("'\\255'", "not UTF-8"),
        ("(function() local t = {} t.t = t return t end)()", "nested too deeply"),
    ] {
        let error = json(&format!("json.encode({value})")).expect_err(value);
        assert!(error.contains(reason), "{value}: {error}");
    }
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
    ] {
        let lua = text.replace('\\', "\\\\");
        let error = json(&format!("json.decode('{lua}')")).expect_err(text);
        assert!(error.contains("not JSON") && error.contains(place), "{text}: {error}");
    }
    assert!(
        json(&format!("json.decode('{}')", "[".repeat(1000)))
            .is_err_and(|error| error.contains("nested too deeply"))
    );
}
