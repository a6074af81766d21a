// Masks e-mail addresses: jane.doe@example.com becomes j***@example.com.
//
// Works for every table that has a column "email"; other tables pass through unchanged. It changes rows in place, so
// it serves tables and queues, alone or before another script.

function mask(email) {
  // The first character (one beyond 16 bits is two of a string's units), and all from the @ on.
  const [, first, domain] = email.match(/^([^@])[^@]*(@.*)$/su) ?? [];
  return first === undefined ? "***" : `${first}***${domain}`;
}

// Called for the row before a change as well, so that neither tells.
export function transformRow(row) {
  // A string: neither null, nor undefined, which is what was not sent (a delete says its key alone, an update
  // leaves out what did not change).
  if ("email" in row && typeof row.email === "string") {
    row.email = mask(row.email);
  }
}
