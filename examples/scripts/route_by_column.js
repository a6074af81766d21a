// For a queue: sends each record to a topic of its tenant, so that a consumer reads its own alone.
//
// The key keeps the changes of one order in one partition, and with it their order. Headers let a consumer choose
// without reading the value. A delete has the key alone, and so no tenant, unless the table's REPLICA IDENTITY is FULL.

// A topic has letters, digits, '.', '_' and '-'; whatever else a tenant is called becomes '_'.
const topicOf = row => "orders." + (row.tenant ?? "unknown").replace(/[^\w.-]/g, "_");

export function onRecord(r) {
  const row = r.row;
  if (!row) return null; // a message in the log, or changed columns
  return {
    topic: topicOf(row),
    key: row.id,
    value: tarn.json.encode({ at: r.commitTime, kind: r.kind, order: row }),
    headers: { kind: r.kind, source: r.source },
  };
}
