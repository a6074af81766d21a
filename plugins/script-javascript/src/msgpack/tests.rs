//! MessagePack in and out.

use crate::runtime::tests::says;

#[test]
fn values_are_packed_in_their_forms() {
    for (value, hex) in [
        ("null", "c0"),
        ("false", "c2"),
        ("5", "05"),
        ("-32", "d0e0"),
        ("300", "d1012c"),
        ("2 ** 40", "d30000010000000000"),
        ("5n", "05"),
        ("2n ** 63n", "cf8000000000000000"),
        ("2n ** 64n", "b43138343436373434303733373039353531363136"),
        ("0.5", "ca3f000000"),
        ("0.1", "cb3fb999999999999a"),
        ("'é'", "a2c3a9"),
        ("new Uint8Array([1, 255])", "c40201ff"),
        ("[1, undefined, [2]]", "9301c09102"),
        ("{ b: 1, a: undefined, c: 'x' }", "82a16201a163a178"),
        ("new Map([[1, 'x'], ['y', null]])", "8201a178a179c0"),
        ("tarn.Decimal('1.50')", "a4312e3530"),
        ("tarn.Time('1970-01-01T00:00:01Z')", "d6ff00000001"),
        ("new Date(1500)", "d7ff7735940000000001"),
        ("tarn.msgpack.bin('é')", "c402c3a9"),
        ("tarn.msgpack.str(new Uint8Array([97]))", "a161"),
        ("tarn.msgpack.unsigned(200)", "ccc8"),
        ("tarn.msgpack.signed('-5')", "fb"),
        ("tarn.msgpack.f64(1)", "cb3ff0000000000000"),
        ("tarn.msgpack.f32(tarn.Decimal('0.5'))", "ca3f000000"),
        ("tarn.msgpack.f32(-Infinity)", "caff800000"),
        ("tarn.msgpack.time32(1.5)", "d6ff00000001"),
        ("tarn.msgpack.time96('1970-01-01T00:00:01Z')", "c70cff000000000000000000000001"),
        ("tarn.msgpack.ext(5, new Uint8Array([1]))", "d40501"),
        ("tarn.msgpack.raw(new Uint8Array([0xc0]))", "c0"),
        ("{ toMsgpack() { return 7 } }", "07"),
    ] {
        assert_eq!(says(&format!("tarn.msgpack.encode({value}).toHex()")), hex, "{value}");
    }
}

#[test]
fn what_has_no_form_is_an_error() {
    for (call, reason) in [
        ("tarn.msgpack.encode(undefined)", "undefined has no MessagePack form"),
        ("tarn.msgpack.encode([() => 1])", "a function has no MessagePack form"),
        ("tarn.msgpack.encode('\\ud800')", "half a pair of surrogates"),
        ("tarn.msgpack.encode(tarn.Time('infinity'))", "an infinite time has no MessagePack form"),
        ("tarn.msgpack.encode(tarn.json.raw('1'))", "what tarn.json.raw made is JSON"),
        ("tarn.msgpack.encode(tarn.msgpack.time32(-1))", "beyond what msgpack.time32 holds"),
        ("tarn.msgpack.unsigned(-1)", "takes a whole number of 64 bits without a sign, not a number"),
        ("tarn.msgpack.signed(1.5)", "takes a whole number of 64 bits, not a number"),
        ("tarn.msgpack.ext(200, new Uint8Array())", "from -128 to 127"),
        ("tarn.msgpack.ext(1, 'x')", "is a Uint8Array, not a string"),
        ("tarn.msgpack.f32(1e300)", "the number is beyond what tarn.msgpack.f32 holds"),
        ("tarn.msgpack.bin(5)", "takes a string, not a number"),
    ] {
        let said = says(&format!("attempt(() => {call})"));
        assert!(said.contains(reason), "{call}: {said}");
    }
}

#[test]
fn what_was_packed_is_there_again() {
    for (value, expression, said) in [
        (
            "[1, -1, 200, 2 ** 40, 2n ** 63n, 2n ** 60n, 0.5]",
            "v.map(x => typeof x[0] + x)",
            "undefined1,undefined-1,undefined200,undefined1099511627776,undefined9223372036854775808,undefined1152921504606846976,undefined0.5",
        ),
        (
            "{ a: [null, true, 'x'], b: new Uint8Array([1]) }",
            "tarn.json.encode(v)",
            "{\"a\":[null,true,\"x\"],\"b\":\"AQ==\"}",
        ),
        ("new Map([[1, 'x']])", "v instanceof Map && v.get(1)", "x"),
        ("tarn.Time('2024-05-17T08:30:00.5Z')", "v", "2024-05-17T08:30:00.5Z"),
        ("tarn.msgpack.ext(5, new Uint8Array([1, 2]))", "v.type + ' ' + v.value", "5 1,2"),
    ] {
        let script = format!("(v => {expression})(tarn.msgpack.decode(tarn.msgpack.encode({value})))");
        assert_eq!(says(&script), said, "{value}");
    }
    for (bytes, reason) in [
        ("", "it ends too early"),
        ("0xc1", "at byte 1"),
        ("0x93, 1", "it ends too early"),
        ("1, 2", "at byte 2"),
        ("...new Uint8Array(70).fill(0x91)", "nested too deeply"),
        ("0xdf, 255, 255, 255, 255", "it ends too early"),
    ] {
        let said = says(&format!("attempt(() => tarn.msgpack.decode(new Uint8Array([{bytes}])))"));
        assert!(said.starts_with("SyntaxError: this") && said.contains(reason), "{bytes}: {said}");
    }
}
