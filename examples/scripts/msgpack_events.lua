-- For a queue: records as MessagePack, with decimals as an extension of their own so that nothing rounds
-- them: type 10 holds the exponent as MessagePack, then the coefficient's bytes, most significant first,
-- and their sign in front (0 or 1).

local msgpack = require "msgpack"

local DECIMAL = 10

local function pack_decimal(number)
  local coefficient = number.coefficient
  if not coefficient then
    return msgpack.str(tostring(number))  -- NaN and the infinities
  end
  local sign = coefficient.sign < 0 and "\1" or "\0"
  return msgpack.ext(DECIMAL, msgpack.encode(number.exponent) .. sign .. coefficient.bytes)
end

local function pack_row(row)
  if not row then
    return nil
  end
  local map = peerdb.RowTable(row)
  for column, value in pairs(map) do
    local kind = peerdb.RowColumnKind(row, column)
    if kind == "numeric" then
      map[column] = pack_decimal(value)
    elseif kind == "bytes" then
      map[column] = msgpack.bin(value)
    end
  end
  return map
end

function onRecord(r)
  if not r.row then
    return nil
  end
  return {
    key = r.row.id,
    value = msgpack.encode {
      kind = r.kind,
      old = pack_row(r.old),
      new = pack_row(r.new),
      lsn = r.checkpoint,
      time = r.commit_time,
    },
  }
end
