-- The student portal's log: the times of a client's attempts in a sorted set, each under an id of its own, on the server's clock.
--
-- KEYS[1]   the key
-- ARGV      window, microseconds; count; an id; expiry to set, milliseconds
-- Reply: how many attempts count, or the oldest time below zero.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window, count = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local attempts = redis.call('ZCARD', KEYS[1])
if attempts >= count then
  return -redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return attempts + 1
