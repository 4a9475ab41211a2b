-- Decides a call of weight 1 on one sliding window, as most are, and records it. Before sliding_log.lua, and before the algorithm and
-- `acquire` for what that leaves.
--
-- KEYS[1]   the key
-- ARGV[1]   count:4 window:7 again:1, microseconds, little-endian, and then in digits the expiry to set, milliseconds
-- Reply: as that of `acquire`.

local key, numbers, value = KEYS[1], ARGV[1], nil
local count, window = read('<I4I7', numbers)
