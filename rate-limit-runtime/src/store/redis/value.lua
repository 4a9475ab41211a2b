-- What the algorithms share.
--
-- Values in Redis are packed little-endian; their first byte tells which algorithm they belong to. Times are
-- microseconds of the server, in 7 bytes. Every algorithm has
--   decide(key, cost, count, span, take, at)
--                 'A' remaining reset_after, 'D' remaining retry_after reset_after, or 'I'. Writes nothing, but
--                 where the clock stepped back and `take` is set.
--   charge()      records what was decided last; returns the id of the hit, for a cost of 0 that of the last that
--                 counts, or 0
--   settle(key, change, hit, cost)   'r' forgets the hits up to and including one, 'u' takes one back
-- A value of something else is an error reply, in the place of the first result. Scripts do not roll back, so
-- nothing may fail after the first write.

local function foreign()
  return redis.error_reply('FOREIGN the key holds what is no rate limit: give the store a prefix of its own')
end

-- Text read as a number of 7 bytes is far above any time.
local IMPLAUSIBLE = 9007199254740992

-- The whole part of a quotient, exact where the operator is not.
local function quotient(dividend, divisor)
  return (dividend - math.fmod(dividend, divisor)) / divisor
end

-- Milliseconds until a key may go that is kept for so many microseconds. One more, since the server rounds.
local function milliseconds(keep)
  return string.format('%.0f', math.ceil(keep / 1000) + 1)
end
