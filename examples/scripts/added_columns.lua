-- Adds columns to a table that the source does not have: a name to search by, and the domain of an address.
--
-- Added columns are declared here, at the top. The destination's table gets them with the first row.

tarn.column("public.users", "search_name", "text")
tarn.column("public.users", "email_domain", "text")

-- What changed is sent, what did not is not: then an added column stays as it is.
function transformRecord(r)
  local row = r.new
  if not row then
    return
  end
  if row.name then
    row.search_name = row.name:lower():gsub("%s+", " ")
  end
  if row.email then
    row.email_domain = row.email:match("@([^@]+)$")
  end
end
