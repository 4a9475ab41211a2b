-- The token bucket. Follows value.lua.
--
-- The value is 'B' full_at:7 refill:7 taken:7; the tag is 'E' once events came with their time. `full_at` is when the bucket is
-- full again, reckoned with `refill`, the time of one token. `taken` grows by one with each token and starts at the time; what it
-- is after a hit is the id of the hit. The key goes when the bucket is full, and a day later if events come with their time, since
-- they may come late.

local LATENESS = 86400000000

local bucket_key, bucket_cost, bucket_refill, bucket_time, comes_with_time
local full_at, taken, timed

local function load_bucket(key)
  local value = redis.call('GET', key)
  if not value then
    full_at, bucket_refill, taken, timed = 0, 0, 0, false
    return
  end
  local tag = string.sub(value, 1, 1)
  if #value ~= 22 or (tag ~= 'B' and tag ~= 'E') then
    return foreign()
  end
  timed = tag == 'E'
  full_at, bucket_refill, taken = struct.unpack('<I7I7I7', value, 2)
  if full_at >= IMPLAUSIBLE or bucket_refill == 0 then
    return foreign()
  end
end

local function store_bucket(key)
  local keep = math.max(full_at - now, 0) + (timed and LATENESS or 0)
  local value = (timed and 'E' or 'B') .. struct.pack('<I7I7I7', full_at, bucket_refill, taken)
  redis.call('SET', key, value, 'PX', string.format('%.0f', math.ceil(keep / 1000) + 1))
end

local token_bucket = {}

function token_bucket.decide(key, cost, capacity, refill, _, take, at)
  if cost > capacity then
    return 'I'
  end
  local failed = load_bucket(key)
  if failed then
    return failed
  end
  local whole = refill * capacity
  local lacks = math.max(full_at - now, 0)
  if bucket_refill ~= refill and bucket_refill > 0 then
    -- The same tokens are missing, under the new refill. The product may be above what is exact here, by one microsecond.
    local rest = math.fmod(lacks, bucket_refill)
    lacks = quotient(lacks, bucket_refill) * refill + math.ceil(rest * refill / bucket_refill)
  end
  local healed = math.min(full_at, now) + math.min(lacks, whole)
  local changed = healed ~= full_at or (lacks > 0 and bucket_refill ~= refill)
  full_at = healed
  bucket_key, bucket_cost, bucket_refill, bucket_time = key, cost, refill, math.min(at or now, now)
  comes_with_time = at ~= nil
  if changed and take then
    -- For good, also at a refusal, or the wait that is told would not hold.
    store_bucket(key)
  end

  local missing = math.max(full_at - bucket_time, 0) + refill * cost
  if cost > 0 and missing > whole then
    return 'D', missing - whole, math.max(full_at - bucket_time, 0)
  end
  return 'A', quotient(math.max(whole - missing, 0), refill), missing
end

function token_bucket.charge()
  if bucket_cost == 0 then
    return full_at > now and taken or 0
  end
  full_at = math.max(full_at, bucket_time) + bucket_refill * bucket_cost
  taken = (taken == 0 and now or taken) + bucket_cost
  timed = timed or comes_with_time
  store_bucket(bucket_key)
  return taken
end

function token_bucket.settle(key, change, hit, cost)
  local failed = load_bucket(key)
  if failed then
    return failed
  end
  if full_at <= now or hit > taken then
    return
  end
  -- What later hits took stays missing.
  local lacks, later = full_at - now, (taken - hit) * bucket_refill
  if change == 'u' then
    -- If the bucket was full since, what is missing now was all taken later.
    full_at = now + math.max(lacks - bucket_refill * cost, math.min(lacks, later))
  else
    full_at = now + math.min(lacks, later)
  end
  store_bucket(key)
end
