// For a queue: change events in the shape that consumers of Debezium know, with the row before and after.
//
// Before a change often the key alone is known: ALTER TABLE … REPLICA IDENTITY FULL gives all of it.

const operation = { insert: "c", update: "u", delete: "d" };

export function onRecord(r) {
  const op = operation[r.kind];
  if (!op) return null;
  const committed = r.commitTime?.epochMilliseconds;
  const event = {
    before: r.old,
    after: r.new,
    source: {
      connector: "tarn",
      table: r.source,
      lsn: r.checkpoint,
      txId: r.transactionId,
      ts_ms: committed,
    },
    op,
    ts_ms: committed,
  };
  return { key: tarn.json.encode({ id: r.row.id }), value: tarn.json.encode(event) };
}
