// Removes secrets from JSON documents, however deep they are: {"user": {"password": "x"}} becomes
// {"user": {"password": "[redacted]"}}. Everything else stays to the digit, in its order.

const secret = new Set(["password", "token", "api_key", "card_number"]);

// Changes the value in place; true when it did.
function redact(value) {
  if (value === null || typeof value !== "object") return false;
  let changed = false;
  for (const [key, field] of Object.entries(value)) {
    if (secret.has(key)) {
      value[key] = "[redacted]";
      changed = true;
    } else if (redact(field)) {
      changed = true;
    }
  }
  return changed;
}

export function transformRow(row) {
  // row.profile would be the document too, but with numbers as JavaScript has them: 1.50 is 1.5 there.
  const text = tarn.text(row, "profile");
  const document = text == null ? null : tarn.json.decode(text, true);
  if (redact(document)) {
    row.profile = tarn.json.raw(tarn.json.encode(document));
  }
}
