-- The clock of the server, in microseconds: it stands before the other scripts.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
