// Types of what scripts in JavaScript for Tarn can use beside the language: for editors, and for scripts that are
// written in TypeScript and compiled before they are uploaded. The target is ES2024, without the DOM's library:
//
//   { "compilerOptions": { "target": "ES2024", "lib": ["ES2024"], "module": "ESNext", "strict": true } }
//
// examples/scripts/JAVASCRIPT.md explains it. A test holds the names against the runtime.

/** What a script's functions are called with: something that happened at the source. */
interface TarnRecord {
  /** `insert` (also a row of the snapshot), `update`, `delete`, `message` or `relation`. */
  readonly kind: "insert" | "update" | "delete" | "message" | "relation";
  /** The row after the change; of a delete, the row before it. `null` for a message or relation. */
  readonly row: TarnRow;
  /** The row after the change. */
  readonly new: TarnRow | null;
  /** The row before the change; often the key alone is known. */
  readonly old: TarnRow | null;
  /** The table's name at the source: `public.users`. */
  readonly source: string;
  /** The table's name at the destination. */
  readonly target: string;
  /** Of an update, the columns that the source did not send because they did not change. */
  readonly unchangedColumns: string[] | null;
  /** When it was committed; `null` for a row of the snapshot. */
  readonly commitTime: TarnTime | null;
  /** In which transaction. */
  readonly transactionId: bigint;
  /** Where in the source's log. */
  readonly checkpoint: bigint;
  /** Of a message, what it was called with. */
  readonly prefix: string | null;
  /** Of a message, what it says: text, or bytes where it is none. */
  readonly content: string | Uint8Array | null;
}

/** What a column holds: `null` for NULL, `undefined` for what the source did not send. */
type TarnValue =
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | TarnDecimal
  | TarnTime
  | TarnInterval
  | TarnValue[]
  | { [name: string]: TarnValue }
  | null
  | undefined;

/** A row: its columns by name. It is valid during the call that it was given to. */
interface TarnRow extends Iterable<[string, any]> {
  [column: string]: any;
}

/** What `onRecord` returns for a queue, beside strings. */
interface TarnMessage {
  /** Where to; the topic of the record's table when left out. */
  topic?: string | null;
  /** Messages with one key keep their order. */
  key?: TarnText;
  /** What the message says; without it, it is a tombstone. */
  value?: TarnText;
  /** Names and values beside the value. */
  headers?: { [name: string]: TarnText };
  /** For topics whose partition the script chooses. */
  partition?: number | null;
}

/** Text or bytes, or what has one text. */
type TarnText = string | Uint8Array | number | bigint | TarnDecimal | TarnTime | TarnInterval | null | undefined;

/** What `onRecord` may return: for a table the row or the record, for a queue messages, nothing to drop it. */
type TarnResult =
  | TarnRecord
  | TarnRow
  | string
  | Uint8Array
  | TarnMessage
  | (string | Uint8Array | TarnMessage | null | undefined)[]
  | null
  | undefined
  | void;

/** A number as it is taken where decimals calculate. */
type TarnNumber = TarnDecimal | number | bigint | string;

/** An exact decimal number. */
interface TarnDecimal {
  plus(other: TarnNumber): TarnDecimal;
  minus(other: TarnNumber): TarnDecimal;
  times(other: TarnNumber): TarnDecimal;
  /** The quotient, with 16 digits after the point or as many as a side has. */
  over(other: TarnNumber): TarnDecimal;
  /** The greatest whole number that is not above the quotient. */
  floorOver(other: TarnNumber): TarnDecimal;
  modulo(other: TarnNumber): TarnDecimal;
  power(exponent: TarnNumber): TarnDecimal;
  negate(): TarnDecimal;
  abs(): TarnDecimal;
  /** Rounded half away from zero. */
  round(places?: number): TarnDecimal;
  /** -1, 0 or 1. */
  compare(other: TarnNumber): number;
  equals(other: unknown): boolean;
  toString(): string;
  toJSON(): string;
  /** The nearest number. */
  toNumber(): number;
  /** The digits before the point. */
  toBigInt(): bigint;
  /** All digits as a whole number. */
  readonly coefficient: bigint;
  /** Digits after the point. */
  readonly scale: number | null;
  readonly sign: -1 | 0 | 1 | null;
  readonly isInteger: boolean;
  readonly isFinite: boolean;
}

interface TarnDecimalClass {
  new (value: TarnNumber): TarnDecimal;
  (value: TarnNumber): TarnDecimal;
  from(value: TarnNumber): TarnDecimal;
  /** The order of two, for `sort`. */
  compare(one: TarnNumber, two: TarnNumber): number;
}

/** A date, a time of day or a point in time, exact to the microsecond. */
interface TarnTime {
  readonly kind: "date" | "time" | "timetz" | "timestamp" | "timestamptz";
  /** Since 1970, or midnight; `null` for the infinities. */
  readonly epochMicroseconds: bigint | null;
  readonly epochMilliseconds: number | null;
  readonly year: number | null;
  readonly month: number | null;
  readonly day: number | null;
  readonly dayOfYear: number | null;
  /** 1 for Monday to 7. */
  readonly dayOfWeek: number | null;
  readonly hour: number | null;
  readonly minute: number | null;
  readonly second: number | null;
  readonly millisecond: number | null;
  /** 0 to 999. */
  readonly microsecond: number | null;
  /** Of a timetz: how many seconds its zone is east of UTC. */
  readonly offsetSeconds: number;
  readonly isFinite: boolean;
  plus(interval: TarnInterval): TarnTime;
  minus(interval: TarnInterval): TarnTime;
  since(earlier: TarnTime | Date | string): TarnInterval;
  compare(other: TarnTime | Date | string): number;
  equals(other: unknown): boolean;
  toDate(): Date;
  /** RFC 3339 for points in time. */
  toString(): string;
  toJSON(): string;
}

interface TarnTimeClass {
  new (value: TarnTime | Date | string): TarnTime;
  (value: TarnTime | Date | string): TarnTime;
  from(value: TarnTime | Date | string): TarnTime;
  fromEpochMicroseconds(micros: bigint | number): TarnTime;
  fromEpochMilliseconds(milliseconds: number): TarnTime;
  now(): TarnTime;
  compare(one: TarnTime | Date | string, two: TarnTime | Date | string): number;
}

/** Months, days and microseconds. */
interface TarnInterval {
  readonly months: number;
  readonly days: number;
  readonly microseconds: bigint;
  /** All of it, where a month has 30 days. */
  readonly totalSeconds: number;
  plus(other: TarnInterval): TarnInterval;
  minus(other: TarnInterval): TarnInterval;
  times(factor: number | bigint): TarnInterval;
  negate(): TarnInterval;
  compare(other: TarnInterval): number;
  equals(other: unknown): boolean;
  toString(): string;
  toJSON(): string;
}

interface TarnIntervalClass {
  new (months?: number, days?: number, microseconds?: bigint | number): TarnInterval;
  (months?: number, days?: number, microseconds?: bigint | number): TarnInterval;
}

/** A value with a word on how it is encoded. */
interface TarnMark {
  /** Of an extension of MessagePack. */
  readonly type?: number;
  readonly value: unknown;
}

/** How values that JSON has no form of its own for are written. */
interface TarnJsonOptions {
  /** Columns of the types json and jsonb. */
  json?: "text" | "nested";
  /** Decimals. */
  numeric?: "text" | "number";
  /** Bytes. */
  bytes?: "base64" | "hex";
  /** NaN and the infinities. */
  nan?: "error" | "null" | "text";
}

interface TarnJson {
  encode(value: unknown, options?: TarnJsonOptions): string;
  encodeBytes(value: unknown, options?: TarnJsonOptions): Uint8Array;
  decode(text: string | Uint8Array, exact?: boolean): any;
  options(options: TarnJsonOptions): void;
  raw(text: string): TarnMark;
}

interface TarnMsgpack {
  encode(value: unknown): Uint8Array;
  decode(bytes: Uint8Array): any;
  raw(bytes: Uint8Array): TarnMark;
  bin(text: string): TarnMark;
  str(bytes: Uint8Array): TarnMark;
  signed(value: TarnNumber): TarnMark;
  unsigned(value: TarnNumber): TarnMark;
  f32(value: TarnNumber): TarnMark;
  f64(value: TarnNumber): TarnMark;
  time(value: TarnTime | Date | string | number | bigint): TarnMark;
  time32(value: TarnTime | Date | string | number | bigint): TarnMark;
  time64(value: TarnTime | Date | string | number | bigint): TarnMark;
  time96(value: TarnTime | Date | string | number | bigint): TarnMark;
  ext(type: number, data: Uint8Array): TarnMark;
}

interface Tarn {
  readonly Decimal: TarnDecimalClass;
  readonly Time: TarnTimeClass;
  readonly Interval: TarnIntervalClass;
  readonly json: TarnJson;
  readonly msgpack: TarnMsgpack;
  /** Adds a column to a table, at the top level alone. */
  column(table: string, name: string, type: string): void;
  /** What type a column is of, as PostgreSQL names it. */
  kind(row: TarnRow, column: string): string;
  /** What a column holds, as text to the last digit. */
  text(row: TarnRow, column: string): string | null | undefined;
  /** A UUID that is derived from the record: the same when the record is delivered again. */
  uuid(): string;
  encodeText(text: string): Uint8Array;
  decodeText(bytes: Uint8Array): string;
}

/** Lines in the mirror's log. */
interface TarnConsole {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

declare const tarn: Tarn;
declare const console: TarnConsole;
