// What of the runtime is said in the language itself; runs once, when the runtime is made.
(function (global, tarn, rows, records, marks, now) {
  "use strict";
  const hidden = (object, name, value) =>
    Object.defineProperty(object, name, { value, writable: true, configurable: true });
  const { entries } = Object;

  hidden(rows, Symbol.iterator, { *entries() { yield* entries(this); } }.entries);
  hidden(rows, "toString", { toString() { return "row"; } }.toString);
  hidden(rows, Symbol.toStringTag, "Row");
  // For JSON.stringify, which knows neither BigInt nor exact numbers.
  const encode = tarn.json.encode;
  const { parse, rawJSON } = JSON;
  const text = String;
  const number = Number;
  const { test } = RegExp.prototype;
  const isNumber = said => test.call(/^-?\d/, said);
  // Digits that a number would not give back stay text.
  const digits = (name, value, { source }) =>
    typeof value === "number" && text(value) !== source ? rawJSON(source) : value;
  const plain = function () { return parse(encode(this), digits); };
  hidden(rows, "toJSON", { toJSON() { return plain.call(this); } }.toJSON);
  hidden(records, "toJSON", { toJSON() { return plain.call(this); } }.toJSON);
  hidden(records, Symbol.toStringTag, "Record");
  // Numbers that keep their text are numbers for operators.
  hidden(marks, "toJSON", { toJSON() { return plain.call(this); } }.toJSON);
  hidden(marks, Symbol.toPrimitive, {
    toPrimitive(hint) {
      const said = this.toString();
      return hint === "string" || isNumber(said) === false ? said : number(said);
    },
  }.toPrimitive);

  // Operators would turn exact values into numbers or text without a word.
  for (const [type, instead] of [
    [tarn.Decimal, "a.plus(b), a.times(b), a.compare(b)"],
    [tarn.Time, "a.plus(interval), a.since(b), a.compare(b)"],
    [tarn.Interval, "a.plus(b), a.times(2), a.compare(b)"],
  ]) {
    const { name, prototype } = type;
    hidden(prototype, Symbol.toStringTag, name);
    hidden(prototype, Symbol.toPrimitive, {
      toPrimitive(hint) {
        if (hint === "string") return this.toString();
        throw new TypeError(`operators do not calculate with a ${name}: there are ${instead}`);
      },
    }.toPrimitive);
  }

  // The clock is the host's, and there is none while a script is loaded.
  const Native = Date;
  const construct = Reflect.construct;
  const Clock = function Date(...parts) {
    if (new.target === undefined) return new Native(now()).toString();
    return construct(Native, parts.length === 0 ? [now()] : parts, new.target);
  };
  hidden(Clock, "now", now);
  hidden(Clock, "parse", Native.parse);
  hidden(Clock, "UTC", Native.UTC);
  Object.defineProperty(Clock, "length", { value: 7 });
  Object.defineProperty(Clock, "prototype", { value: Native.prototype, writable: false });
  hidden(Native.prototype, "constructor", Clock);
  hidden(global, "Date", Clock);
  delete global.performance;
})
