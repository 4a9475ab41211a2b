-- Decides the charges of one call and records them, all or none. Follows the algorithms.
--
-- ARGV[1]   'take', or 'peek' to record nothing
-- then for each charge
--   algorithm: 's' sliding window, 'b' token bucket, 'f' fixed window
--   count or capacity; window or refill, microseconds; expiry to set, milliseconds; cost
--   block, microseconds, or '0'
--   'o' to observe only, or ''
--   time of the event, microseconds, or ''
-- KEYS: one for each charge, then one for the block of each charge whose policy has one
--
-- Reply, packed little-endian; places count from 0, times are in microseconds:
--   'A' tightest:1 remaining:4 reset_after:7, then hit:7 for each charge, 0 for one that observes and did not fit
--   'D' longest:1 retry_after:7 reset_after:7
--   'I' which:1                                a cost is above its limit

local FIELDS = 8
local take = ARGV[1] == 'take'
local charges = math.floor((#ARGV - 1) / FIELDS)
local blocks = charges

local function field(place, number)
  return ARGV[1 + (place - 1) * FIELDS + number]
end

local function decide(place, cost)
  return algorithms[field(place, 1)].decide(
    KEYS[place], tonumber(cost), tonumber(field(place, 2)), tonumber(field(place, 3)), field(place, 4), take,
    tonumber(field(place, 8)))
end

-- Refuses while a block lasts, and begins one at a refusal. Returns how long it lasts.
local function blocked(key, block, refused)
  local left = math.min((tonumber(redis.call('GET', key)) or 0) - now, block)
  if left <= 0 and refused and take then
    left = block
    redis.call('SET', key, string.format('%.0f', now + block), 'PX', string.format('%.0f', math.ceil(block / 1000) + 1))
  end
  return math.max(left, 0)
end

local fits = {}
local impossible, longest, retry_after, refused_reset
local tightest, remaining, reset_after = 1, nil, 0
for place = 1, charges do
  local observe = field(place, 7) == 'o'
  local tag, first, reset = decide(place, field(place, 5))
  if type(tag) == 'table' then
    return tag
  end
  local block = tonumber(field(place, 6))
  if block > 0 and tag ~= 'I' then
    blocks = blocks + 1
    local left = blocked(KEYS[blocks], block, tag == 'D')
    if left > 0 then
      first = tag == 'D' and math.max(first, left) or left
      tag, reset = 'D', math.max(reset, left)
    end
  elseif block > 0 then
    blocks = blocks + 1
  end
  if tag == 'A' then
    if not take then
      -- Nothing is charged, so all that remains now still does.
      tag, first, reset = decide(place, '0')
    end
    fits[place] = true
    if not remaining or first < remaining then
      tightest, remaining, reset_after = place, first, reset
    end
  elseif not observe then
    if tag == 'I' then
      impossible = impossible or place
    elseif not longest or first > retry_after then
      longest, retry_after, refused_reset = place, first, reset
    end
  end
end
if impossible then
  return 'I' .. string.char(impossible - 1)
end
if longest then
  return 'D' .. string.char(longest - 1) .. struct.pack('<I7I7', retry_after, refused_reset)
end

local reply = { 'A', string.char(tightest - 1), struct.pack('<I4I7', remaining or 0, reset_after) }
for place = 1, charges do
  local hit = 0
  if fits[place] and take then
    if charges > 1 then
      -- An algorithm charges what it decided last.
      decide(place, field(place, 5))
    end
    hit = algorithms[field(place, 1)].charge()
  end
  reply[#reply + 1] = struct.pack('<I7', hit)
end
return table.concat(reply)
