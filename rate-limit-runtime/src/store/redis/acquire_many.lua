-- Decides several calls in their order, each as `acquire` does: follows it as a function of its keys and arguments.
--
-- ARGV: for each call, how many keys it has and how many charges, then what `acquire` takes for these
-- KEYS: those of each call
-- Reply: for each call, the length of its answer in 2 bytes, and the answer. A call that fails leaves the others alone: its answer
-- is 'E' and the error.

local replies = {}
local keys_end, args_end = 0, 0
while args_end < #ARGV do
  local keys, charges = tonumber(ARGV[args_end + 1]), tonumber(ARGV[args_end + 2])
  local first_key, first_arg = keys_end + 1, args_end + 3
  keys_end, args_end = keys_end + keys, args_end + 2 + 8 * charges
  local decided, reply = pcall(acquire, { unpack(KEYS, first_key, keys_end) }, { 'take', unpack(ARGV, first_arg, args_end) })
  if not decided or type(reply) == 'table' then
    local failed = type(reply) == 'table' and reply.err or tostring(reply)
    -- Servers before version 7 put the place in the script before it.
    reply = 'E' .. string.sub(string.gsub(failed, '@?user_script: ?%d+: ', ''), 1, 1000)
  end
  replies[#replies + 1] = struct.pack('<I2', #reply) .. reply
end
return table.concat(replies)
