// Fills a column from others: total = price * quantity - discount, to the cent.
//
// price, discount and total are numeric columns. Their values are exact decimals, which have methods instead of
// operators; assigning more digits than the column holds is an error, so the result is rounded.

export function onRecord(r) {
  if (r.kind === "delete") return r;
  const { price, quantity, discount } = r.row;
  if (price != null && quantity != null) {
    r.row.total = price.times(quantity).minus(discount ?? 0).round(2);
  }
  return r;
}
