-- Decides the charges of one call and records them, all or none. Follows the algorithms.
--
-- ARGV[1]   'take', or 'peek' to record nothing
-- then for each charge
--   algorithm: 's' sliding window, 'b' token bucket, 'f' fixed window
--   count or capacity; window or refill, microseconds; cost
--   block, microseconds, or '0'
--   'o' to observe only, or ''
--   time of the event, microseconds, or ''
-- KEYS: one for each charge, then one for the block of each charge whose policy has one
--
-- Reply, packed little-endian; places count from 0, times are in microseconds:
--   'A' tightest:1 remaining:4 reset_after:7, then hit:7 for each charge, 0 for one that observes and did not fit
--   'D' longest:1 remaining:4 retry_after:7 reset_after:7
--   'I' which:1                                a cost is above its limit

local FIELDS = 7
local take = ARGV[1] == 'take'
local charges = math.floor((#ARGV - 1) / FIELDS)
local blocks = charges

local function field(place, number)
  return ARGV[1 + (place - 1) * FIELDS + number]
end

local function decide(place, cost)
  return algorithms[field(place, 1)].decide(
    KEYS[place], tonumber(cost), tonumber(field(place, 2)), tonumber(field(place, 3)), take,
    tonumber(field(place, 7)))
end

-- The blocks that begin or were put right, to be written once nothing can fail any more.
local changed = {}

-- Refuses while a block lasts, and begins one at a refusal. Returns how long it lasts, or an error reply.
-- The value is 't' ends:7 begun:7; a value 'T' of an earlier version lacks when it began. A policy sees as much of a
-- block as it would block for itself, and cuts no longer one short.
local function blocked(key, block, refused)
  local value = redis.call('GET', key)
  local ends, begun = 0, 0
  if value then
    local tag, bytes = string.sub(value, 1, 1), #value
    if tag == 't' and bytes == 15 then
      ends, begun = struct.unpack('<I7I7', value, 2)
    elseif tag == 'T' and bytes == 8 then
      ends = struct.unpack('<I7', value, 2)
      begun = math.max(ends - block, 0)
    else
      return foreign()
    end
    if ends >= IMPLAUSIBLE or begun > ends then
      return foreign()
    end
  end
  -- A block whose start is later than `now` was written before the clock stepped back.
  local ahead = math.max(begun - now, 0)
  ends, begun = ends - ahead, begun - ahead
  local left = math.min(ends, begun + block) - now
  if take and refused and left <= 0 then
    ends, begun, left = math.max(ends, now + block), now, block
    ahead = 1
  end
  if take and ahead > 0 then
    changed[#changed + 1] = { key, ends, begun }
  end
  return math.max(left, 0)
end

local fits = {}
local impossible, longest, refused_remaining, retry_after, refused_reset
local tightest, remaining, reset_after = 1, nil, 0
for place = 1, charges do
  local observe = field(place, 6) == 'o'
  -- Of a refusal: what remains, how long until it fits, and how long until the limit is whole.
  local tag, first, second, third = decide(place, field(place, 4))
  if type(tag) == 'table' then
    return tag
  end
  local block = tonumber(field(place, 5))
  if block > 0 then
    blocks = blocks + 1
  end
  if block > 0 and tag ~= 'I' then
    local left = blocked(KEYS[blocks], block, tag == 'D')
    if type(left) == 'table' then
      return left
    end
    if left > 0 and tag == 'D' then
      first, second, third = 0, math.max(second, left), math.max(third, left)
    elseif left > 0 then
      tag, first, second, third = 'D', 0, left, math.max(second, left)
    end
  end
  if tag == 'A' then
    if not take then
      -- Nothing is charged, so all that remains now still does.
      tag, first, second = decide(place, '0')
    end
    fits[place] = true
    if not remaining or first < remaining or (first == remaining and second > reset_after) then
      tightest, remaining, reset_after = place, first, second
    end
  elseif not observe then
    if tag == 'I' then
      impossible = impossible or place
    elseif not longest or second > retry_after or (second == retry_after and third > refused_reset) then
      longest, refused_remaining, retry_after, refused_reset = place, first, second, third
    end
  end
end
for _, new in ipairs(changed) do
  local value = 't' .. struct.pack('<I7I7', new[2], new[3])
  redis.call('SET', new[1], value, 'PX', milliseconds(new[2] - now))
end
if impossible then
  return 'I' .. string.char(impossible - 1)
end
if longest then
  return 'D' .. string.char(longest - 1) .. struct.pack('<I4I7I7', refused_remaining, retry_after, refused_reset)
end

local reply = { 'A', string.char(tightest - 1), struct.pack('<I4I7', remaining or 0, reset_after) }
for place = 1, charges do
  local hit = 0
  if fits[place] and take then
    if charges > 1 then
      -- An algorithm charges what it decided last.
      decide(place, field(place, 4))
    end
    hit = algorithms[field(place, 1)].charge()
  end
  reply[#reply + 1] = struct.pack('<I7', hit)
end
return table.concat(reply)
