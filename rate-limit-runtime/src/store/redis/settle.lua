-- Changes counters after the fact. Follows the algorithms.
--
-- ARGV: for each settlement
--   algorithm, as for acquire
--   'r' to forget the hits up to and including one, 'u' to take one back
--   id of the hit; what it weighed
-- KEYS: for each settlement, the counter and its block
-- Reply: an empty string.

local FIELDS = 4
for place = 1, #KEYS / 2 do
  local from = (place - 1) * FIELDS
  local key, block, change = KEYS[2 * place - 1], KEYS[2 * place], ARGV[from + 2]
  local failed = algorithms[ARGV[from + 1]].settle(key, change, tonumber(ARGV[from + 3]), tonumber(ARGV[from + 4]))
  if failed then
    return failed
  end
  if change == 'r' then
    redis.call('DEL', block)
  end
end
return ''
