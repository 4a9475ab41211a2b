-- The generic cell rate algorithm, in integer microseconds on the server's clock. It keeps one time, and no log.
--
-- KEYS[1]   the key
-- ARGV      time between calls, and what may come at once as a time, microseconds
-- Reply: as redis-cell and redis_rate tell it: whether the call is admitted, how many more are, retry_after and reset_after.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local arrival = tonumber(redis.call('GET', KEYS[1]) or now)
if arrival < now then
  arrival = now
end
local next_arrival = arrival + interval
local room = now + burst - next_arrival
if room < 0 then
  return { 0, 0, -room, arrival - now }
end
redis.call('SET', KEYS[1], string.format('%.0f', next_arrival), 'PX', math.ceil((next_arrival - now) / 1000))
return { 1, math.floor(room / interval), 0, next_arrival - now }
