-- The sliding window log of one key, shared by the scripts. A clock stands before it and sets `now`.
--
-- KEYS[1]   the key
-- ARGV[1]   count
-- ARGV[2]   window, microseconds
-- ARGV[3]   expiry to set, milliseconds: two windows, rounded up, and one for the server's rounding
--
-- The value, little-endian, in one of two layouts:
--   list  'L' expiry:7, then the entries, 7 bytes each, oldest first; for a count of up to 128
--   ring  'R' expiry:7 size:4 head:4 length:4, then `size` slots of 7 bytes; for a larger count
-- An entry is the time of an admission, `expiry` is when the key goes, both in microseconds of the server.
-- Arguments are checked by the caller: scripts do not roll back, so nothing may fail after the first write.

local key = KEYS[1]
local count, window, expiry_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local LIST_MAX, LIST_HEAD, RING_HEAD = 128, 8, 20
-- How far entries may run ahead of the clock, since no two have one time: those of one batch do.
local AHEAD = 1000
local as_ring = count > LIST_MAX

local value, expiry, size, head
local ring = false
local length = 0

local function foreign()
  return redis.error_reply('FOREIGN the key holds what is no rate limit: give the store a prefix of its own')
end

-- Reads the header, and of a list the entries too. Returns an error reply if the value is not ours.
local function load()
  value = as_ring and redis.call('GETRANGE', key, '0', '19') or redis.call('GET', key)
  if not value or value == '' then
    return
  end
  local tag = string.sub(value, 1, 1)
  if (tag ~= 'L' and tag ~= 'R') or #value < LIST_HEAD then
    return foreign()
  end
  expiry = struct.unpack('<I7', value, 2)
  -- Text read as a number is far above any time.
  if expiry >= 9007199254740992 then
    return foreign()
  end
  if tag == 'R' then
    if #value < RING_HEAD then
      return foreign()
    end
    ring, size, head, length = true, struct.unpack('<I4I4I4', value, 9)
    if size == 0 or head >= size or length > size then
      return foreign()
    end
  else
    if as_ring then
      value = redis.call('GET', key)
    end
    length = (#value - LIST_HEAD) / 7
    if length ~= math.floor(length) then
      return foreign()
    end
  end
end

local function slot_offset(slot)
  return string.format('%.0f', RING_HEAD + 7 * slot)
end

-- The time of entry `i`, the oldest being 1.
local function entry(i)
  if ring then
    local from = RING_HEAD + 7 * ((head + i - 1) % size)
    local packed = redis.call('GETRANGE', key, string.format('%.0f', from), string.format('%.0f', from + 6))
    return (struct.unpack('<I7', packed))
  end
  return (struct.unpack('<I7', value, LIST_HEAD + 7 * i - 6))
end

-- How many entries from the oldest on satisfy `past`, which holds for none after the first that it does not hold for.
-- Steps double from the old end, where as a rule little is found, then halve.
local function count_while(past)
  local low, step = 0, 1
  while low + step <= length and past(entry(low + step)) do
    low = low + step
    step = step * 2
  end
  local high = math.min(low + step, length + 1)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if past(entry(middle)) then
      low = middle
    else
      high = middle
    end
  end
  return low
end

-- Writes the value anew, in the layout that `count` asks for, with the entries after the first `dropped`, none of them
-- later than `latest`, and those in `more`.
local function rewrite(dropped, more, latest)
  local packed = {}
  for i = dropped + 1, length do
    packed[#packed + 1] = struct.pack('<I7', math.min(entry(i), latest))
  end
  packed[#packed + 1] = more
  local entries = table.concat(packed)
  local kept = #entries / 7
  if kept == 0 then
    redis.call('DEL', key)
    length = 0
    return
  end
  expiry = now + 2 * window
  if as_ring then
    size, head = math.max(count, kept), 0
    value = 'R' .. struct.pack('<I7I4I4I4', expiry, size, head, kept) .. entries
  else
    value = 'L' .. struct.pack('<I7', expiry) .. entries
  end
  redis.call('SET', key, value, 'PX', expiry_ms)
  ring, length = as_ring, kept
end
