-- Fills columns from a point in time: the day and the hour in the shop's own time, and how long the order
-- took. Times are exact to the microsecond; arithmetic with them is PostgreSQL's.
--
-- The offset is fixed: a script sees no time zone database, so that it gives the same result everywhere.

local offset = peerdb.Interval(0, 0, 2 * 3600 * 1000000)  -- two hours east of UTC

function transformRow(row)
  if row.ordered_at then
    local here = row.ordered_at + offset
    row.local_day = string.format("%04d-%02d-%02d", here.year, here.month, here.day)
    row.local_hour = here.hour
  end
  if row.ordered_at and row.shipped_at then
    row.took_minutes = (row.shipped_at - row.ordered_at).seconds // 60
  end
end
