-- The fixed window counter, aligned to the epoch. Follows value.lua.
--
-- The value is 'f' total:7 counted_at:7, then for each length of window that a policy counts in, the last one last:
-- length:7 end:7 base:7 used:7. `total` grows by one with each hit and starts at the time; its value after a hit is
-- the id of the hit. Hits up to `base` are of an earlier window or forgotten. What counts is `used`, until `end`.
-- Every hit counts in all windows. The key goes when the last of them ends. A value 'F' of an earlier version is
-- end:7 total:7 base:7 used:7.

-- How many lengths are counted at most. Beyond that the shortest goes: what it counted counts in a longer one.
local LENGTHS = 4

local total, counted_at, windows, old_window
-- What was decided last.
local fixed_key, fixed_cost, fixed_own

local function load_counter(key)
  local value = redis.call('GET', key)
  total, counted_at, windows, old_window = 0, 0, {}, nil
  if not value then
    return
  end
  local tag, bytes = string.sub(value, 1, 1), #value
  if tag == 'F' and bytes == 29 then
    local ends, of, base, used = struct.unpack('<I7I7I7I7', value, 2)
    total, counted_at, old_window = of, now, { 0, ends, base, used }
    windows[1] = old_window
  elseif tag == 'f' and bytes >= 43 and math.fmod(bytes - 15, 28) == 0 then
    total, counted_at = struct.unpack('<I7I7', value, 2)
    for from = 16, bytes, 28 do
      windows[#windows + 1] = { struct.unpack('<I7I7I7I7', value, from) }
    end
  else
    return foreign()
  end
  for _, window in ipairs(windows) do
    if window[2] >= IMPLAUSIBLE or window[3] > total or window[4] > total - window[3] then
      return foreign()
    end
  end
end

-- When the last window ends.
local function last_end()
  local last = 0
  for _, window in ipairs(windows) do
    last = math.max(last, window[2])
  end
  return last
end

local function store_counter(key)
  local value = { 'f', struct.pack('<I7I7', total, counted_at) }
  for _, window in ipairs(windows) do
    value[#value + 1] = struct.pack('<I7I7I7I7', window[1], window[2], window[3], window[4])
  end
  redis.call('SET', key, table.concat(value), 'PX', milliseconds(math.max(last_end() - now, 0)))
end

local function next_end(length)
  return now - math.fmod(now, length) + length
end

-- Lets no window from before the clock stepped back hold anybody up beyond the one that is counted now. Returns
-- whether there was one.
local function heal_windows()
  local healed = false
  for _, window in ipairs(windows) do
    if window[2] > now + window[1] then
      window[2], healed = next_end(window[1]), true
    end
  end
  counted_at = math.min(counted_at, now)
  return healed
end

-- The window of this length that is counted now. If none of this length was counted yet, the hits that may be of it
-- are taken from those that are counted in others.
local function own_window(length)
  local own = { length, next_end(length), 0, 0 }
  local base, used
  for _, window in ipairs(windows) do
    if window[1] == length then
      return window[2] > now and window or own
    end
    if window[2] > now then
      base, used = math.min(base or window[3], window[3]), math.max(used or 0, window[4])
    end
  end
  if counted_at >= own[2] - length and used then
    own[3], own[4] = base, used
  end
  return own
end

-- Counts in this window too. Another one goes if there are too many.
local function count_in(own)
  local others, shortest = {}, nil
  for _, window in ipairs(windows) do
    if window[1] ~= own[1] then
      others[#others + 1] = window
      if not shortest or window[1] < others[shortest][1] then
        shortest = #others
      end
    end
  end
  if #others >= LENGTHS then
    table.remove(others, shortest)
  end
  others[#others + 1] = own
  windows = others
end

local fixed_window = {}

function fixed_window.decide(key, cost, count, length, take)
  if cost > count then
    return 'I'
  end
  local failed = load_counter(key)
  if failed then
    return failed
  end
  if old_window then
    old_window[1] = length
  end
  if heal_windows() and take then
    -- For good, also at a refusal, or the client would wait until the clock is where it was.
    store_counter(key)
  end
  local own = own_window(length)
  fixed_key, fixed_cost, fixed_own = key, cost, own
  local free, left = math.max(count - own[4], 0), own[2] - now
  if cost > free then
    if take and own[2] > last_end() then
      -- What is counted would go before this window ends.
      count_in(own)
      store_counter(key)
    end
    return 'D', free, left, left
  end
  return 'A', free - cost, own[4] + cost > 0 and left or 0
end

function fixed_window.charge()
  local own = fixed_own
  if fixed_cost == 0 then
    return own[4] > 0 and total or 0
  end
  if last_end() <= now then
    windows, total = {}, math.max(total, now)
  end
  if own[4] == 0 then
    own[3] = total
  end
  count_in(own)
  for _, window in ipairs(windows) do
    if window[2] <= now then
      window[2], window[3], window[4] = next_end(window[1]), total, 0
    end
    window[4] = window[4] + fixed_cost
  end
  total, counted_at = total + fixed_cost, now
  store_counter(fixed_key)
  return total
end

function fixed_window.settle(key, change, hit, cost)
  local failed = load_counter(key)
  -- A value of an earlier version is settled no more: its window is not known here.
  if failed or old_window then
    return failed
  end
  local changed = false
  for _, window in ipairs(windows) do
    if window[2] > now and window[3] < hit and hit <= total then
      changed = true
      if change == 'u' then
        window[4] = math.max(window[4] - cost, 0)
      else
        window[3], window[4] = hit, math.min(window[4], total - hit)
      end
    end
  end
  if changed then
    store_counter(key)
  end
end
