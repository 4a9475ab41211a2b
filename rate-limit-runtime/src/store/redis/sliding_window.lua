-- The sliding window log. Follows value.lua.
--
-- The value is in one of two layouts:
--   list  'l' expiry:7 window:7, then the entries, 7 bytes each, oldest first; for a count of up to 128
--   ring  'r' expiry:7 window:7 size:4 head:4 length:4, then `size` slots of 7 bytes; for a larger count
-- An entry is the time of an admission and the id of its hit: no two have one. `expiry` is when the key goes.
-- `window` is the longest of the policies that charged the log, or refused by it, since it was last empty: entries
-- are kept for that long. Values 'L' and 'R' of an earlier version lack it.

local LIST_MAX, RING_NUMBERS = 128, 12
-- The bytes before the numbers of a ring or the entries of a list, by the tag.
local HEADS = { l = 15, r = 15, L = 8, R = 8 }
-- How far entries may run ahead of the clock, since no two have one time: those of one batch do.
local AHEAD = 1000

-- The log that was read last. `head_bytes` are before its entries, `kept` is its window.
local value, ring, expiry, kept, size, head, length, head_bytes, current
-- What was decided last: `window` and `limit` of the policy.
local window, limit, newest, live, cost

-- Reads the header, and of a list the entries too. Returns an error reply if the value is of something else.
local function load(of)
  local failed
  ring, expiry, kept, length, current = false, nil, 0, 0, true
  -- More than any list has; a ring may be long.
  value, failed = read_value(of, '1023')
  if not value or value == '' then
    return failed
  end
  local tag = string.sub(value, 1, 1)
  local fixed = HEADS[tag]
  if not fixed or #value < fixed then
    return foreign()
  end
  current, head_bytes = fixed == 15, fixed
  expiry = struct.unpack('<I7', value, 2)
  if current then
    kept = struct.unpack('<I7', value, 9)
  end
  if expiry >= IMPLAUSIBLE or kept >= IMPLAUSIBLE then
    return foreign()
  end
  value_ends = expiry
  if tag == 'r' or tag == 'R' then
    head_bytes = fixed + RING_NUMBERS
    if #value < head_bytes then
      return foreign()
    end
    ring, size, head, length = true, struct.unpack('<I4I4I4', value, fixed + 1)
    if size == 0 or head >= size or length > size then
      return foreign()
    end
  else
    if #block + #value == 1024 then
      value = read_value(of)
      value_ends = expiry
    end
    length = (#value - head_bytes) / 7
    if length ~= math.floor(length) then
      return foreign()
    end
  end
end

-- The time of entry `i`, the oldest being 1.
local function entry(i)
  if ring then
    local from = head_bytes + 7 * ((head + i - 1) % size)
    local packed = redis.call('GETRANGE', key, at(from), at(from + 6))
    if #packed < 7 then
      error(foreign())
    end
    return (struct.unpack('<I7', packed))
  end
  return (struct.unpack('<I7', value, head_bytes + 7 * i - 6))
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

-- Writes these entries as the whole value, as a ring for more than a list may have, with a fresh expiry.
local function rewrite(entries, as_ring, slots)
  length = #entries / 7
  expiry = now + 2 * kept
  if as_ring then
    size, head = math.max(slots, length), 0
    value = 'r' .. struct.pack('<I7I7I4I4I4', expiry, kept, size, head, length) .. entries
  else
    value = 'l' .. struct.pack('<I7I7', expiry, kept) .. entries
  end
  write_value(value, 2 * kept)
  ring, current, head_bytes = as_ring, true, as_ring and 27 or 15
end

-- Writes these entries in the layout that there is, and leaves the expiry.
local function replace(entries)
  if entries == '' then
    write_value('', 0)
    return
  end
  if ring then
    value = string.sub(value, 1, head_bytes - RING_NUMBERS) .. struct.pack('<I4I4I4', size, 0, #entries / 7) .. entries
  else
    value = string.sub(value, 1, head_bytes) .. entries
  end
  write_value(value)
end

-- How many entries the layout has room for.
local function room()
  return ring and math.max(size, LIST_MAX) or LIST_MAX
end

-- Keeps the entries for a window of this length from now on, as many as the policy counts.
local function keep_for(longest)
  kept, expiry = longest, now + 2 * longest
  if current and limit <= room() then
    redis.call('SETRANGE', key, at(1), struct.pack('<I7I7', expiry, kept))
    redis.call('PEXPIRE', key, expiry_of(2 * kept))
  else
    rewrite(packed(1, length, newest), ring or limit > LIST_MAX, math.max(limit, room()))
  end
end

local sliding_window = {}

function sliding_window.decide(of, weight, count, span, take)
  if weight > count then
    return 'I'
  end
  local failed = load(of)
  if failed then
    return failed
  end
  cost, limit, window = weight, count, span
  newest = length > 0 and entry(length) or 0
  if newest >= IMPLAUSIBLE then
    return foreign()
  end
  -- Entries further ahead were written before the clock stepped back. They are brought back to now, for good, so that
  -- nobody waits longer than one window for them.
  if newest > now + AHEAD then
    if take then
      kept = math.max(kept, span)
      rewrite(packed(1, length, now), ring, size)
    end
    newest = now
  end
  local reset_after = length > 0 and math.max(newest + window - now, 0) or 0

  -- The charge fits when the entry `count - cost + 1` from the end has left the window.
  local in_the_way = count - cost + 1
  if cost > 0 and length >= in_the_way then
    local wait = math.min(entry(length - in_the_way + 1), newest) + window - now
    if wait > 0 then
      -- The entries count on, also under a longer window than they were written under.
      if take and (kept < window or limit > room() or expiry < newest + kept) then
        keep_for(math.max(kept, window))
      end
      local free = cost > 1 and math.max(count - length + count_until(now - window), 0) or 0
      return 'D', free, wait, reset_after
    end
  end
  live = length - count_until(now - window)
  local remaining = math.max(count - live - cost, 0)
  return 'A', remaining, cost > 0 and math.max(newest + 1 - now, 0) + window or (live > 0 and reset_after or 0)
end

function sliding_window.charge()
  if cost == 0 then
    return live > 0 and newest or 0
  end
  -- Entries are kept for the longest window, and no more of them than the layout has room for.
  local longest = math.max(kept, window)
  local expired = count_until(now - longest)
  if expired == length then
    longest = window
  end
  local slots = math.max(limit, expired < length and room() or LIST_MAX)
  expired = math.max(expired, length + cost - slots)
  local stays = length - expired
  -- A ring stays one until its log is empty: another policy may count as much as it has room for.
  local as_ring = limit > LIST_MAX or (ring and stays > 0)
  local hit = math.max(now, newest + 1)
  local added = string.rep(struct.pack('<I7', hit), cost)
  local lasts = current and kept == longest and expiry and expiry - now >= kept and expiry - now <= 2 * kept
  if stays == 0 or ring ~= as_ring or not current or (ring and size ~= slots) then
    kept = longest
    rewrite(packed(expired + 1, length, newest) .. added, as_ring, slots)
  elseif ring then
    head = (head + expired) % size
    for i = 0, cost - 1 do
      redis.call('SETRANGE', key, at(head_bytes + 7 * ((head + stays + i) % size)), struct.pack('<I7', hit))
    end
    if not lasts then
      kept, expiry = longest, now + 2 * longest
      redis.call('PEXPIRE', key, expiry_of(2 * longest))
    end
    redis.call('SETRANGE', key, at(1), struct.pack('<I7I7I4I4I4', expiry, kept, size, head, stays + cost))
  else
    local entries = string.sub(value, head_bytes + 1 + 7 * expired) .. added
    if lasts then
      write_value(string.sub(value, 1, head_bytes) .. entries)
    else
      kept = longest
      rewrite(entries, false)
    end
  end
  return hit
end

function sliding_window.settle(of, change, hit)
  local failed = load(of)
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
    write_value('', 0)
  elseif ring then
    redis.call('SETRANGE', key, at(head_bytes - 8), struct.pack('<I4I4', (head + upto) % size, length - upto))
  elseif upto > 0 then
    replace(string.sub(value, head_bytes + 1 + 7 * upto))
  end
end

function sliding_window.load(of)
  return load(of)
end

-- The entries later than `time`, packed, none of them ahead of now.
function sliding_window.entries_after(time)
  return packed(count_until(time) + 1, length, now)
end
