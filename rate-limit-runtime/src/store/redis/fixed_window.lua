-- The fixed window counter, aligned to the epoch. Follows value.lua.
--
-- The value is 'F' end:7 total:7 base:7 used:7. `total` grows by one with each hit and starts at the time; what it is after a hit
-- is the id of the hit. Hits up to `base` are of an earlier window or forgotten. What counts is `used`, until `end`, when the key
-- goes.

local fixed_key, fixed_cost
local window_end, total, base, used

local function load_counter(key)
  local value = redis.call('GET', key)
  if not value then
    window_end, total, base, used = 0, 0, 0, 0
    return
  end
  if #value ~= 29 or string.sub(value, 1, 1) ~= 'F' then
    return foreign()
  end
  window_end, total, base, used = struct.unpack('<I7I7I7I7', value, 2)
  if window_end >= IMPLAUSIBLE or base > total or used > total - base then
    return foreign()
  end
end

local function store_counter(key)
  local value = 'F' .. struct.pack('<I7I7I7I7', window_end, total, base, used)
  redis.call('SET', key, value, 'PX', string.format('%.0f', math.ceil((window_end - now) / 1000) + 1))
end

local fixed_window = {}

function fixed_window.decide(key, cost, count, window, _, take)
  if cost > count then
    return 'I'
  end
  local failed = load_counter(key)
  if failed then
    return failed
  end
  fixed_key, fixed_cost = key, cost
  local next_end = now - math.fmod(now, window) + window
  if window_end <= now then
    window_end, total = next_end, math.max(total, now)
    base, used = total, 0
  elseif window_end > now + window then
    -- From before the clock stepped back, or the window was made shorter. For good, also at a refusal.
    window_end = next_end
    if take then
      store_counter(key)
    end
  end
  local taken = used + cost
  if cost > 0 and taken > count then
    return 'D', window_end - now, window_end - now
  end
  return 'A', math.max(count - taken, 0), taken > 0 and window_end - now or 0
end

function fixed_window.charge()
  if fixed_cost == 0 then
    return used > 0 and total or 0
  end
  total, used = total + fixed_cost, used + fixed_cost
  store_counter(fixed_key)
  return total
end

function fixed_window.settle(key, change, hit, cost)
  local failed = load_counter(key)
  if failed then
    return failed
  end
  if window_end <= now or hit > total or hit <= base then
    return
  end
  if change == 'u' then
    used = math.max(used - cost, 0)
  else
    base, used = hit, math.min(used, total - hit)
  end
  store_counter(key)
end
