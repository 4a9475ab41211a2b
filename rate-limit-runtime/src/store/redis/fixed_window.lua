-- The fixed window counter, aligned to the epoch. Follows value.lua.
--
-- The value is 'f' total:7 counted_at:7, then for each length of window that a policy counts in, the last one last:
-- length:7 end:7 base:7 used:7. `total` starts at the time of the first hit and grows by one with each hit; its
-- value after a hit is the id of the hit. Hits up to `base` are of an earlier window or forgotten. What counts is `used`, until `end`.
-- Every hit counts in all windows. The key goes when the last of them ends. A value 'F' of an earlier version is
-- end:7 total:7 base:7 used:7.
--
-- Nearly all counters have one length, that of the policy: these are decided with no table and no function. The
-- functions for all others are made when one is met.

-- How many lengths are counted at most. Beyond that the shortest goes: what it counted counts in a longer one.
local LENGTHS = 4

-- What was decided last: `others` is nil for a counter of the one length.
local fixed_cost, fixed_length, total, others
local window_end, base, used

-- A counter of several lengths, of another length than the policy's, of an earlier version or by a clock that stepped
-- back. Returns an error reply, or nothing and its functions.
local function several_windows(value, length)
  local self, windows, counted_at = {}, {}, 0

  local tag, bytes = string.sub(value, 1, 1), #value
  if tag == 'F' and bytes == 29 then
    local ends, of, from, hits = struct.unpack('<I7I7I7I7', value, 2)
    total, counted_at, windows[1] = of, now, { length, ends, from, hits }
  elseif tag == 'f' and bytes >= 43 and math.fmod(bytes - 15, 28) == 0 then
    total, counted_at = struct.unpack('<I7I7', value, 2)
    for from = 16, bytes, 28 do
      windows[#windows + 1] = { struct.unpack('<I7I7I7I7', value, from) }
    end
  else
    return foreign()
  end
  for _, window in ipairs(windows) do
    if window[1] == 0 or window[1] >= IMPLAUSIBLE or window[2] >= IMPLAUSIBLE or window[3] > total
      or window[4] > total - window[3] then
      return foreign()
    end
  end
  if total >= IMPLAUSIBLE or counted_at >= IMPLAUSIBLE then
    return foreign()
  end

  local function next_end(of)
    return now - math.fmod(now, of) + of
  end

  -- When the last window ends.
  local function last_end()
    local last = 0
    for _, window in ipairs(windows) do
      last = math.max(last, window[2])
    end
    return last
  end

  local function store()
    local parts = { 'f', struct.pack('<I7I7', total, counted_at) }
    for _, window in ipairs(windows) do
      parts[#parts + 1] = struct.pack('<I7I7I7I7', window[1], window[2], window[3], window[4])
    end
    write_value(table.concat(parts), math.max(last_end() - now, 0))
  end
  value_ends = last_end()

  -- Counts in this window too. Another one goes if there are too many.
  local function count_in(own)
    local kept, shortest = {}, nil
    for _, window in ipairs(windows) do
      if window[1] ~= own[1] then
        kept[#kept + 1] = window
        if not shortest or window[1] < kept[shortest][1] then
          shortest = #kept
        end
      end
    end
    if #kept >= LENGTHS then
      table.remove(kept, shortest)
    end
    kept[#kept + 1] = own
    windows = kept
  end

  -- Lets no window from before the clock stepped back hold anybody up beyond the one that is counted now.
  function self.heal(take)
    local healed = counted_at > now
    for _, window in ipairs(windows) do
      if window[2] > now + window[1] then
        window[2], healed = next_end(window[1]), true
      end
    end
    counted_at = math.min(counted_at, now)
    if healed and take then
      -- For good, also at a refusal, or the client would wait until the clock is where it was.
      store()
    end
  end

  -- The window of the policy's length that is counted now. If none of this length was counted yet, the hits that may
  -- be of it are taken from those that are counted in others.
  function self.own()
    local own = { length, next_end(length), 0, 0 }
    local from, hits
    for _, window in ipairs(windows) do
      if window[1] == length then
        return window[2] > now and window or own
      end
      if window[2] > now then
        from, hits = math.min(from or window[3], window[3]), math.max(hits or 0, window[4])
      end
    end
    if counted_at >= own[2] - length and hits then
      own[3], own[4] = from, hits
    end
    return own
  end

  -- Keeps what is counted until the window of the policy ends, which has refused a call.
  function self.keep()
    if window_end > last_end() then
      count_in({ length, window_end, base, used })
      store()
    end
  end

  function self.charge(cost)
    if last_end() <= now then
      windows, total = {}, math.max(total, now)
    end
    count_in({ length, window_end, used == 0 and total or base, used })
    for _, window in ipairs(windows) do
      if window[2] <= now then
        window[2], window[3], window[4] = next_end(window[1]), total, 0
      end
      window[4] = window[4] + cost
    end
    total, counted_at = total + cost, now
    store()
  end

  function self.settle(change, hit, cost)
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
      store()
    end
  end

  return nil, self
end

local fixed_window = {}

function fixed_window.decide(key, cost, count, length, take)
  if cost > count then
    return 'I'
  end
  local value, failed = read_value(key)
  if failed then
    return failed
  end
  fixed_cost, fixed_length, others = cost, length, nil
  local next_end = now - math.fmod(now, length) + length
  local tag, counted_at, known
  if value and #value == 43 then
    tag, total, counted_at, known, window_end, base, used = struct.unpack('<BI7I7I7I7I7I7', value)
  end
  if not value then
    total, base, used, window_end = now, now, 0, next_end
  elseif tag == 102 and known == length and counted_at <= now and window_end <= now + length
    and total < IMPLAUSIBLE and base <= total and used <= total - base then
    value_ends = window_end
    if window_end <= now then
      total = math.max(total, now)
      base, used, window_end = total, 0, next_end
    end
  else
    failed, others = several_windows(value, length)
    if failed then
      return failed
    end
    others.heal(take)
    local own = others.own()
    window_end, base, used = own[2], own[3], own[4]
  end
  local free, left = math.max(count - used, 0), window_end - now
  if cost > free then
    if take and others then
      others.keep()
    end
    return 'D', free, left, left
  end
  return 'A', free - cost, used + cost > 0 and left or 0
end

function fixed_window.charge()
  if fixed_cost == 0 then
    return used > 0 and total or 0
  end
  if others then
    others.charge(fixed_cost)
    return total
  end
  base = used == 0 and total or base
  total, used = total + fixed_cost, used + fixed_cost
  local value = struct.pack('<BI7I7I7I7I7I7', 102, total, now, fixed_length, window_end, base, used)
  write_value(value, window_end - now)
  return total
end

function fixed_window.settle(key, change, hit, cost)
  local value, failed = read_value(key)
  -- A value of an earlier version is settled no more: its window is not known here.
  if not value or (string.sub(value, 1, 1) == 'F' and #value == 29) then
    return failed
  end
  local counter
  failed, counter = several_windows(value)
  if failed then
    return failed
  end
  counter.settle(change, hit, cost)
end
