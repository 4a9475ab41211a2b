-- Admits and records `cost` hits, or refuses them. Follows log.lua.
--
-- ARGV[4]   cost
-- ARGV[5]   'take', or 'peek' to record nothing
-- Reply, packed little-endian:
--   'A' hit:7 remaining:4 reset_after:7    admitted
--   'D' retry_after:7 reset_after:7        refused
--   'I'                                    refused for good: the cost is above the count
-- Times are in microseconds. `hit` is the id of the hit: its time, and above all earlier ones of the key.

local cost, take = tonumber(ARGV[4]), ARGV[5] == 'take'

if cost > count then
  return 'I'
end
local failed = load()
if failed then
  return failed
end

local newest = length > 0 and entry(length) or 0
-- Entries further ahead were written before the clock stepped back. They are brought back to now, for good, so that
-- nobody waits longer than one window for them.
if newest > now + AHEAD then
  if take then
    rewrite(0, '', now)
  end
  newest = now
end

-- The charge fits when the entry `count - cost + 1` from the end has left the window.
local in_the_way = count - cost + 1
if cost > 0 and length >= in_the_way then
  local wait = math.min(entry(length - in_the_way + 1), newest) + window - now
  if wait > 0 then
    -- The key must outlive its entries, also under a longer window than the one it was written under.
    if take and expiry < newest + window then
      rewrite(0, '', newest)
    end
    return 'D' .. struct.pack('<I7I7', wait, math.max(newest + window - now, 0))
  end
end

local expired = count_while(function(time) return time + window <= now end)
local live = length - expired
if not take then
  cost = 0
end
if cost == 0 then
  local reset_after = live > 0 and math.max(newest + window - now, 0) or 0
  return 'A' .. struct.pack('<I7I4I7', newest, math.max(count - live, 0), reset_after)
end

local hit = math.max(now, newest + 1)
local packed = string.rep(struct.pack('<I7', hit), cost)
local lasts = expiry and expiry - now >= window and expiry - now <= 2 * window
if live == 0 or ring ~= as_ring or (ring and size ~= count) or not (ring or lasts) then
  rewrite(expired, packed, newest)
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
  redis.call('SET', key, string.sub(value, 1, LIST_HEAD) .. string.sub(value, LIST_HEAD + 1 + 7 * expired) .. packed, 'KEEPTTL')
end
return 'A' .. struct.pack('<I7I4I7', hit, count - live - cost, hit + window - now)
