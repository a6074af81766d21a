-- Fills a column from others: total = price * quantity - discount, to the cent.
--
-- price, discount and total are numeric columns. Their values are exact decimals; arithmetic with them
-- stays exact, and assigning more digits than the column holds is an error, so the result is rounded.

function onRecord(r)
  if r.kind == "delete" then
    return r
  end
  local row = r.row
  if row.price and row.quantity then
    local total = row.price * row.quantity - (row.discount or 0)
    row.total = total:round(2)
  end
  return row
end
