-- Forgets the hits up to and including one. Follows log.lua; count and window do not matter here.
--
-- ARGV[4]   the id of the last hit to forget
-- Reply: an empty string.

local upto = tonumber(ARGV[4])
local failed = load()
if failed then
  return failed
end
-- A hit from the future was given out before the clock stepped back, and names nothing any more.
if length == 0 or upto > now + AHEAD then
  return ''
end
local settled = count_while(function(time) return time <= upto end)
if settled == length then
  redis.call('DEL', key)
elseif ring then
  redis.call('SETRANGE', key, '12', struct.pack('<I4I4', (head + settled) % size, length - settled))
elseif settled > 0 then
  redis.call('SET', key, string.sub(value, 1, LIST_HEAD) .. string.sub(value, LIST_HEAD + 1 + 7 * settled), 'KEEPTTL')
end
return ''
