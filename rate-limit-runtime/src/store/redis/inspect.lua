-- Tells when the hits were admitted that count now. Follows value.lua and sliding_window.lua.
--
-- KEYS[1]   the key
-- ARGV[1]   window, microseconds
-- Reply: the times, oldest first, microseconds in 7 bytes each, little-endian.

local failed = sliding_window.load(KEYS[1])
if failed then
  return failed
end
return sliding_window.entries_after(now - tonumber(ARGV[1]))
