// For a queue: change events in the shape that consumers of Debezium know, with the row before and after.
//
// Before a change often the key alone is known: ALTER TABLE … REPLICA IDENTITY FULL gives all of it.

const operation = { insert: "c", update: "u", delete: "d" };

const keyOf = (row) => tarn.json.encode({ id: row.id });

function eventOf(r, op, before, after) {
  const committed = r.commitTime?.epochMilliseconds;
  return tarn.json.encode({
    before,
    after,
    source: {
      connector: "tarn",
      table: r.source,
      lsn: r.checkpoint,
      txId: r.transactionId,
      ts_ms: committed,
    },
    op,
    ts_ms: committed,
  });
}

export function onRecord(r) {
  const op = operation[r.kind];
  if (!op) return null;
  const key = keyOf(r.row);
  const oldKey = op === "u" && r.old ? keyOf(r.old) : key;
  if (oldKey !== key) {
    // The row goes under its old key, for readers and for compaction, and comes under the new one.
    return [
      { key: oldKey, value: eventOf(r, "d", r.old, null) },
      { key: oldKey },
      { key, value: eventOf(r, "c", null, r.new) },
    ];
  }
  return { key, value: eventOf(r, op, r.old, r.new) };
}
