-- The token bucket. Follows value.lua.
--
-- The value is 'b' full_at:7 refill:7 taken:7 changed_at:7; the tag is 'e' once events came with their time.
-- `full_at` is when the bucket is full again, reckoned with `refill`, the time of one token, by the policy that
-- charged it last. `changed_at` is when it last changed. `taken` grows by one with each token and starts at the
-- time; its value after a hit is the id of the hit. The key goes when the bucket is full, and a day after that and
-- after the last change if events come with their time, since they may come late. Values 'B' and 'E' of an earlier
-- version lack `changed_at`.
--
-- Each policy sees the tokens that were missing at `changed_at` come back at the faster of its own refill and that
-- of the last, and no more of them missing than its capacity.

local LATENESS = 86400000000
-- The longest time of a policy, and the most that conversion makes of what is owed.
local LONGEST = 3153600000000000

local full_at, refill, taken, changed_at, timed, of_before
-- What was decided last.
local bucket_cost, bucket_refill, bucket_full, bucket_timed

local function load_bucket(key)
  local value, failed = read_value(key)
  if not value then
    full_at, refill, taken, changed_at, timed, of_before = 0, 0, 0, 0, false, false
    return failed
  end
  local tag = string.sub(value, 1, 1)
  if tag == 'b' or tag == 'e' then
    if #value ~= 29 then
      return foreign()
    end
    full_at, refill, taken, changed_at = struct.unpack('<I7I7I7I7', value, 2)
  elseif #value == 22 and (tag == 'B' or tag == 'E') then
    full_at, refill, taken = struct.unpack('<I7I7I7', value, 2)
    changed_at = now
  else
    return foreign()
  end
  timed, of_before = tag == 'e' or tag == 'E', tag == 'B' or tag == 'E'
  if full_at >= IMPLAUSIBLE or changed_at >= IMPLAUSIBLE or taken >= IMPLAUSIBLE or refill == 0 or refill > LONGEST then
    return foreign()
  end
  value_ends = math.max(full_at, changed_at) + (timed and LATENESS or 0)
end

local function store_bucket()
  local value = (timed and 'e' or 'b') .. struct.pack('<I7I7I7I7', full_at, refill, taken, changed_at)
  write_value(value, math.max(full_at - now, 0) + (timed and LATENESS or 0))
end

-- As many tokens at the refill `to` as `time` is at the refill `from`, rounded up. The product may be above what is
-- exact here, by one microsecond.
local function scaled(time, to, from)
  local rest = math.fmod(time, from)
  return quotient(time, from) * to + math.ceil(rest * to / from)
end

local token_bucket = {}

function token_bucket.decide(key, cost, capacity, own, take, at)
  if cost > capacity then
    return 'I'
  end
  local failed = load_bucket(key)
  if failed then
    return failed
  end
  if changed_at > now then
    -- The clock stepped back since: what is missing stays as it was.
    full_at = full_at > changed_at and now + full_at - changed_at or math.min(full_at, now)
    changed_at, of_before = now, true
  end
  if of_before and take then
    -- For good, also at a refusal, or the client would wait until the clock is where it was, and what a smaller capacity
    -- sees missing of a value that does not tell when it changed would never come back.
    store_bucket()
  end
  local pace = refill > 0 and math.min(refill, own) or own
  local owed = math.max(full_at - changed_at, 0)
  if own < refill then
    owed = scaled(owed, own, refill)
  end
  local judged = owed > 0 and changed_at + math.min(owed, pace * capacity) or full_at
  local event = math.min(at or now, now)
  local missing = math.max(judged - event, 0)
  local free = quotient(math.max(pace * capacity - missing, 0), pace)
  if cost > free then
    return 'D', free, missing - pace * (capacity - cost), missing
  end

  -- When it is full after the charge, by the refill of the charge, or by a faster one where more tokens are owed than fit
  -- in the longest time at that.
  local full, by = owed > 0 and changed_at + owed or full_at, own
  if full > event and own > pace then
    local lacks = full - event
    by = math.min(own, math.max(refill, quotient(LONGEST, quotient(lacks - 1, refill) + 1)))
    full = event + scaled(lacks, by, refill)
  end
  full = math.max(full, event) + by * cost
  bucket_cost, bucket_refill, bucket_full, bucket_timed = cost, by, full, timed or at ~= nil
  local whole, left = by * capacity, full - event
  local remaining = quotient(math.max(whole - left, 0), by)
  if cost == 0 then
    -- One more call may fit though more is owed than this policy sees.
    remaining = math.max(remaining, math.min(free, 1))
  end
  return 'A', remaining, math.min(left, whole)
end

function token_bucket.charge()
  if bucket_cost == 0 then
    return full_at > now and taken or 0
  end
  full_at, refill, changed_at, timed = bucket_full, bucket_refill, now, bucket_timed
  taken = (taken == 0 and now or taken) + bucket_cost
  store_bucket()
  return taken
end

function token_bucket.settle(key, change, hit, cost)
  local failed = load_bucket(key)
  if failed then
    return failed
  end
  if changed_at > now then
    full_at = full_at > changed_at and now + full_at - changed_at or math.min(full_at, now)
    changed_at = now
    store_bucket()
  end
  if full_at <= now or hit > taken then
    return
  end
  -- What later hits took stays missing.
  local lacks, later = full_at - now, (taken - hit) * refill
  if change == 'u' then
    -- If the bucket was full since, what is missing now was all taken later.
    full_at = now + math.max(lacks - refill * cost, math.min(lacks, later))
  else
    full_at = now + math.min(lacks, later)
  end
  changed_at = now
  store_bucket()
end
