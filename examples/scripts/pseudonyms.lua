-- Replaces personal values by pseudonyms: the same value always gives the same pseudonym, so rows still
-- join, and nobody finds the value without the secret. The pseudonym is SHA-256 of secret and value.
--
-- Choose your own secret, as long as a pseudonym, and keep it as you keep the data.

local secret = "change me: 32 bytes of randomness"
local columns = { email = true, phone = true }

-- SHA-256 (FIPS 180-4), on 64-bit integers of which the lower 32 bits count.

local MASK = 0xffffffff
local round = {}
local start = {}

local function fraction(number, root)
  -- The first 32 bits after the point of a root of a small prime; a float holds enough of them.
  return math.floor((number ^ root % 1) * 2 ^ 32)
end

do
  local prime, found = 2, 0
  while found < 64 do
    local is_prime = true
    for divisor = 2, math.floor(prime ^ 0.5) do
      is_prime = is_prime and prime % divisor ~= 0
    end
    if is_prime then
      found = found + 1
      round[found] = fraction(prime, 1 / 3)
      if found <= 8 then
        start[found] = fraction(prime, 1 / 2)
      end
    end
    prime = prime + 1
  end
end

local function rotate(value, by)
  return (value >> by | value << (32 - by)) & MASK
end

local function compress(state, block)
  local words = { string.unpack(">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4", block) }
  for at = 17, 64 do
    local early, late = words[at - 15], words[at - 2]
    words[at] = (words[at - 16] + words[at - 7]
      + (rotate(early, 7) ~ rotate(early, 18) ~ early >> 3)
      + (rotate(late, 17) ~ rotate(late, 19) ~ late >> 10)) & MASK
  end
  local a, b, c, d, e, f, g, h = table.unpack(state)
  for at = 1, 64 do
    local one = h + (rotate(e, 6) ~ rotate(e, 11) ~ rotate(e, 25)) + (e & f ~ ~e & g) + round[at] + words[at]
    local two = (rotate(a, 2) ~ rotate(a, 13) ~ rotate(a, 22)) + (a & b ~ a & c ~ b & c)
    a, b, c, d, e, f, g, h = (one + two) & MASK, a, b, c, (d + one) & MASK, e, f, g
  end
  for at, value in ipairs { a, b, c, d, e, f, g, h } do
    state[at] = (state[at] + value) & MASK
  end
end

local function sha256(text)
  local padding = ("\0"):rep((55 - #text) % 64)
  local padded = text .. "\x80" .. padding .. string.pack(">I8", #text * 8)
  local state = { table.unpack(start) }
  for at = 1, #padded, 64 do
    compress(state, padded:sub(at, at + 63))
  end
  return ("%08x"):rep(8):format(table.unpack(state))
end

function transformRow(row)
  for column, value in pairs(row) do
    if columns[column] and value then
      row[column] = sha256(secret .. "\0" .. value)
    end
  end
end
