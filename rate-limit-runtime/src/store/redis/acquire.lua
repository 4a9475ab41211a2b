-- Decides the charges of one call and records them, all or none. Follows the algorithms.
--
-- ARGV[1]   'take', or 'peek' to record nothing
-- then for each charge
--   algorithm: 's' sliding window, 'b' token bucket, 'f' fixed window
--   count or capacity; window or refill, microseconds; cost
--   block, microseconds, or '0'
--   'o' to observe only, or ''
--   time of the event, microseconds, or ''
-- KEYS: one for each charge
--
-- Reply, packed little-endian; places count from 0, times are in microseconds:
--   'A' tightest:1 remaining:4 reset_after:7, then hit:7 for each charge, 0 for one that observes and did not fit
--   'D' longest:1 remaining:4 retry_after:7 reset_after:7    refused; 'B' if `longest` is so by a block
--   'I' which:1                                a cost is above its limit

local FIELDS = 7
local take = ARGV[1] == 'take'
local charges = math.floor((#ARGV - 1) / FIELDS)

local function field(place, number)
  return ARGV[1 + (place - 1) * FIELDS + number]
end

local function decide(place, cost)
  return algorithm(field(place, 1)).decide(
    KEYS[place], tonumber(cost), tonumber(field(place, 2)), tonumber(field(place, 3)), take,
    tonumber(field(place, 7)))
end

-- The blocks that begin or were put right, to be written once nothing can fail any more.
local changed = {}

-- How long the block lasts of the counter that was decided last. A refusal begins one, if none lasts. A policy sees as
-- much of a block as it would block for itself, and cuts no longer one short.
local function blocked(place, span, refused)
  -- A block whose start is later than `now` was written before the clock stepped back.
  local ahead = math.max(block_begun - now, 0)
  local ends, begun = block_ends - ahead, block_begun - ahead
  local left = math.min(ends, begun + span) - now
  if take and refused and span > 0 and left <= 0 then
    ends, begun, left = math.max(ends, now + span), now, span
    ahead = 1
  end
  if take and ahead > 0 then
    changed[#changed + 1] = { place, ends, begun }
  end
  return math.max(left, 0)
end

local fits = {}
local impossible, longest, refusal, refused_remaining, retry_after, refused_reset
local tightest, remaining, reset_after = 1, nil, 0
for place = 1, charges do
  local observe = field(place, 6) == 'o'
  -- Of a refusal: what remains, how long until it fits, and how long until the limit is whole.
  local tag, first, second, third = decide(place, field(place, 4))
  if type(tag) == 'table' then
    return tag
  end
  local span = tonumber(field(place, 5))
  if tag ~= 'I' and (span > 0 or block_begun > now) then
    local left = blocked(place, span, tag == 'D')
    if left > 0 and tag == 'D' then
      tag, first, second, third = 'B', 0, math.max(second, left), math.max(third, left)
    elseif left > 0 then
      tag, first, second, third = 'B', 0, left, math.max(second, left)
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
      longest, refusal, refused_remaining, retry_after, refused_reset = place, tag, first, second, third
    end
  end
end
for _, new in ipairs(changed) do
  if charges > 1 then
    decide(new[1], field(new[1], 4))
  end
  block_ends, block_begun = new[2], new[3]
  front = 't' .. struct.pack('<I7I7', block_ends, block_begun)
  local expiry = expiry_of(value_ends - now)
  if block == '' then
    redis.call('SET', key, front .. (redis.call('GET', key) or ''), 'PX', expiry)
  else
    redis.call('SETRANGE', key, '0', front)
    redis.call('PEXPIRE', key, expiry)
  end
  block = front
end
if impossible then
  return 'I' .. string.char(impossible - 1)
end
if longest then
  return refusal .. string.char(longest - 1) .. struct.pack('<I4I7I7', refused_remaining, retry_after, refused_reset)
end

local reply = { 'A', string.char(tightest - 1), struct.pack('<I4I7', remaining or 0, reset_after) }
for place = 1, charges do
  local hit = 0
  if fits[place] and take then
    if charges > 1 then
      -- An algorithm charges what it decided last.
      decide(place, field(place, 4))
    end
    if block_ends <= now then
      -- A policy that blocks leaves room for its next block, so that this begins in place.
      front = field(place, 5) ~= '0' and NO_BLOCK or ''
    end
    hit = algorithm(field(place, 1)).charge()
  end
  reply[#reply + 1] = struct.pack('<I7', hit)
end
return table.concat(reply)
