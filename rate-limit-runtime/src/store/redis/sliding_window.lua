-- The sliding window log. Follows value.lua.
--
-- The value is in one of two layouts:
--   list  'L' expiry:7, then the entries, 7 bytes each, oldest first; for a count of up to 128
--   ring  'R' expiry:7 size:4 head:4 length:4, then `size` slots of 7 bytes; for a larger count
-- An entry is the time of an admission and the id of its hit: no two have one. `expiry` is when the key goes.

local LIST_MAX, LIST_HEAD, RING_HEAD = 128, 8, 20
-- How far entries may run ahead of the clock, since no two have one time: those of one batch do.
local AHEAD = 1000

-- The log that was read last.
local key, as_ring, window, expiry_ms
local value, ring, expiry, size, head, length
-- What was decided on it last.
local newest, live, expired, cost

-- Reads the header, and of a list the entries too. Returns an error reply if the value is not ours.
local function load(of, read_header_only)
  key, ring, expiry, length = of, false, nil, 0
  value = read_header_only and redis.call('GETRANGE', key, '0', '19') or redis.call('GET', key)
  if not value or value == '' then
    return
  end
  local tag = string.sub(value, 1, 1)
  if (tag ~= 'L' and tag ~= 'R') or #value < LIST_HEAD then
    return foreign()
  end
  expiry = struct.unpack('<I7', value, 2)
  if expiry >= IMPLAUSIBLE then
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
    if read_header_only then
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

-- How many entries are at `time` or before. Steps double from the old end, where as a rule little is found, then halve.
local function count_until(time)
  local low, step = 0, 1
  while low + step <= length and entry(low + step) <= time do
    low = low + step
    step = step * 2
  end
  local high = math.min(low + step, length + 1)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if entry(middle) <= time then
      low = middle
    else
      high = middle
    end
  end
  return low
end

-- The entries from `first` to `last`, packed, each no later than `latest`.
local function packed(first, last, latest)
  local entries = {}
  for i = first, last do
    entries[#entries + 1] = struct.pack('<I7', math.min(entry(i), latest))
  end
  return table.concat(entries)
end

-- Writes these entries as the whole value, in the layout that the count asks for, with a fresh expiry.
local function rewrite(entries, count)
  length = #entries / 7
  expiry = now + 2 * window
  if as_ring then
    size, head = math.max(count, length), 0
    value = 'R' .. struct.pack('<I7I4I4I4', expiry, size, head, length) .. entries
  else
    value = 'L' .. struct.pack('<I7', expiry) .. entries
  end
  redis.call('SET', key, value, 'PX', expiry_ms)
  ring = as_ring
end

-- Writes these entries in the layout that there is, and leaves the expiry.
local function replace(entries)
  if ring then
    length = #entries / 7
    value = 'R' .. struct.pack('<I7I4I4I4', expiry, size, 0, length) .. entries
  else
    value = string.sub(value, 1, LIST_HEAD) .. entries
  end
  if entries == '' then
    redis.call('DEL', key)
  else
    redis.call('SET', key, value, 'KEEPTTL')
  end
end

local limit
local sliding_window = {}

function sliding_window.decide(of, weight, count, span, ms, take)
  cost, limit, window, expiry_ms, as_ring = weight, count, span, ms, count > LIST_MAX
  if cost > count then
    return 'I'
  end
  local failed = load(of, as_ring)
  if failed then
    return failed
  end
  newest = length > 0 and entry(length) or 0
  -- Entries further ahead were written before the clock stepped back. They are brought back to now, for good, so that
  -- nobody waits longer than one window for them.
  if newest > now + AHEAD then
    if take then
      rewrite(packed(1, length, now), count)
    end
    newest = now
  end
  local reset_after = length > 0 and math.max(newest + window - now, 0) or 0

  -- The charge fits when the entry `count - cost + 1` from the end has left the window.
  local in_the_way = count - cost + 1
  if cost > 0 and length >= in_the_way then
    local wait = math.min(entry(length - in_the_way + 1), newest) + window - now
    if wait > 0 then
      -- The key must outlive its entries, also under a longer window than the one it was written under.
      if take and expiry < newest + window then
        rewrite(packed(1, length, newest), count)
      end
      return 'D', wait, reset_after
    end
  end
  expired = count_until(now - window)
  live = length - expired
  local remaining = math.max(count - live - cost, 0)
  return 'A', remaining, cost > 0 and math.max(newest + 1 - now, 0) + window or (live > 0 and reset_after or 0)
end

function sliding_window.charge()
  if cost == 0 then
    return live > 0 and newest or 0
  end
  local hit = math.max(now, newest + 1)
  local added = string.rep(struct.pack('<I7', hit), cost)
  local lasts = expiry and expiry - now >= window and expiry - now <= 2 * window
  if live == 0 or ring ~= as_ring or (ring and size ~= limit) then
    rewrite(packed(expired + 1, length, newest) .. added, limit)
  elseif ring then
    head = (head + expired) % size
    for i = 0, cost - 1 do
      redis.call('SETRANGE', key, slot_offset((head + live + i) % size), struct.pack('<I7', hit))
    end
    if not lasts then
      expiry = now + 2 * window
      redis.call('PEXPIRE', key, expiry_ms)
    end
    redis.call('SETRANGE', key, '1', struct.pack('<I7I4I4I4', expiry, size, head, live + cost))
  else
    local entries = string.sub(value, LIST_HEAD + 1 + 7 * expired) .. added
    if lasts then
      redis.call('SET', key, string.sub(value, 1, LIST_HEAD) .. entries, 'KEEPTTL')
    else
      rewrite(entries, limit)
    end
  end
  return hit
end

function sliding_window.settle(of, change, hit)
  local failed = load(of, true)
  if failed then
    return failed
  end
  -- A hit from the future was given out before the clock stepped back, and names nothing any more.
  if length == 0 or hit > now + AHEAD then
    return
  end
  local upto = count_until(hit)
  if change == 'u' then
    local before = count_until(hit - 1)
    if before < upto then
      replace(packed(1, before, IMPLAUSIBLE) .. packed(upto + 1, length, IMPLAUSIBLE))
    end
  elseif upto == length then
    redis.call('DEL', key)
  elseif ring then
    redis.call('SETRANGE', key, '12', struct.pack('<I4I4', (head + upto) % size, length - upto))
  elseif upto > 0 then
    replace(string.sub(value, LIST_HEAD + 1 + 7 * upto))
  end
end

function sliding_window.load(of)
  return load(of, true)
end

-- The entries later than `time`, packed, none of them ahead of now.
function sliding_window.entries_after(time)
  return packed(count_until(time) + 1, length, now)
end
