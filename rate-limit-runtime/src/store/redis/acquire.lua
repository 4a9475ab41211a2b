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

-- The blocks that begin, to be written once nothing can fail any more.
local begun = {}

-- Refuses while a block lasts, and begins one at a refusal. Returns how long it lasts, or an error reply.
-- The value is 'T' and when it ends, in 7 bytes.
local function blocked(key, block, refused)
  local value = redis.call('GET', key)
  local ends = 0
  if value then
    if #value ~= 8 or string.sub(value, 1, 1) ~= 'T' then
      return foreign()
    end
    ends = struct.unpack('<I7', value, 2)
    if ends >= IMPLAUSIBLE then
      return foreign()
    end
  end
  local left = ends - now
  -- One that ends later than it may was begun before the clock stepped back, or the block was made shorter.
  if take and (left > block or (left <= 0 and refused)) then
    left = block
    begun[#begun + 1] = { key, block }
  end
  return math.max(math.min(left, block), 0)
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
    if type(left) == 'table' then
      return left
    end
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
for _, new in ipairs(begun) do
  local ends, keep = struct.pack('<I7', now + new[2]), math.ceil(new[2] / 1000) + 1
  redis.call('SET', new[1], 'T' .. ends, 'PX', string.format('%.0f', keep))
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
