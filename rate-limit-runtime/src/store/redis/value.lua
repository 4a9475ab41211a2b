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

-- A value may stand behind a block, a time in which calls are refused: 't' ends:7 begun:7, both 0 where room is left for
-- one. The algorithms read and write their values by the functions below, which know where a value begins and keep the key
-- for as long as the value or the block counts.
local BLOCK_TAG, BLOCK_BYTES = 116, 15
local NO_BLOCK = 't\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

-- The key that was read last; what stands in front of its value there, and what is put there when the value is written as a
-- whole; when its block ends and began; and until when the value is kept, which the algorithm sets that reads it.
local key, block, front, block_ends, block_begun, value_ends

-- Returns the value, or what lies of it in the first `bytes` of the key; false for none; nil and an error reply for a block
-- that is not valid.
local function read_value(of, bytes)
  key, block, block_ends, block_begun, value_ends = of, '', 0, 0, 0
  local value = bytes and redis.call('GETRANGE', of, '0', bytes) or redis.call('GET', of)
  if value and string.byte(value) == BLOCK_TAG then
    if #value < BLOCK_BYTES then
      return nil, foreign()
    end
    block_ends, block_begun = struct.unpack('<I7I7', value, 2)
    if block_ends >= IMPLAUSIBLE or block_begun > block_ends then
      return nil, foreign()
    end
    block = string.sub(value, 1, BLOCK_BYTES)
    value = #value > BLOCK_BYTES and string.sub(value, BLOCK_BYTES + 1)
  end
  front = block
  return value
end

-- Where a byte of the value lies in the key.
local function at(byte)
  return string.format('%.0f', #block + byte)
end

-- Milliseconds until the key may go, if its value is kept for so many microseconds. One more, since the server rounds.
local function expiry_of(keep)
  value_ends = now + keep
  return string.format('%.0f', math.ceil(math.max(keep, block_ends - now) / 1000) + 1)
end

-- Writes a value that is kept for so many microseconds, or for as long as the one before; '' for none.
local function write_value(value, keep)
  if value == '' and block_ends <= now then
    redis.call('DEL', key)
  elseif keep then
    redis.call('SET', key, front .. value, 'PX', expiry_of(keep))
  else
    redis.call('SET', key, front .. value, 'KEEPTTL')
  end
  block = front
end
