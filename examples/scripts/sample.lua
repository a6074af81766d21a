-- Replicates one row in a hundred, and always the same ones: which, the key decides.
--
-- A row is in the sample for as long as it lives, and so are its updates and its delete. Mixing the bits of
-- the key makes the sample fair where keys are not.

local share = 100

local function mix(key)
  -- The finalizer of MurmurHash3, on 64-bit integers that wrap around.
  key = (key ~ key >> 33) * 0xff51afd7ed558ccd
  key = (key ~ key >> 33) * 0xc4ceb9fe1a85ec53
  return key ~ key >> 33
end

function onRecord(r)
  -- Shifted, so that the number has no sign.
  if (mix(r.row.id) >> 1) % share == 0 then
    return r.row
  end
end
