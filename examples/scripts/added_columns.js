// Adds columns to a table that the source does not have: a name to search by, and the domain of an address.
//
// Added columns are declared here, at the top. The destination's table gets them with the first row.

tarn.column("public.users", "search_name", "text");
tarn.column("public.users", "email_domain", "text");

// What changed is sent, what did not is not: then an added column stays as it is.
export function transformRecord(r) {
  const row = r.new;
  if (!row) return;
  if (row.name != null) {
    row.search_name = row.name.toLowerCase().replace(/\s+/g, " ");
  }
  if (row.email != null) {
    row.email_domain = row.email.match(/@([^@]+)$/)?.[1] ?? null;
  }
}
