-- Changes counters after the fact. Follows the algorithms.
--
-- ARGV: for each settlement
--   algorithm, as for acquire
--   'r' to forget the hits up to and including one, 'u' to take one back
--   id of the hit; what it weighed
-- KEYS: one for each settlement
-- Reply: an empty string.

local FIELDS = 4
for place = 1, #KEYS do
  local from = (place - 1) * FIELDS
  local change = ARGV[from + 2]
  local failed = algorithm(ARGV[from + 1]).settle(KEYS[place], change, tonumber(ARGV[from + 3]), tonumber(ARGV[from + 4]))
  if failed then
    return failed
  end
  if change == 'r' and block_ends > now then
    block_ends = 0
    if value_ends > now then
      redis.call('SETRANGE', key, '0', NO_BLOCK)
      redis.call('PEXPIRE', key, expiry_of(value_ends - now))
    else
      redis.call('DEL', key)
    end
  end
end
return ''
