-- Decides several calls in their order, each as `acquire_log` or `acquire` does: follows what these are made of, as the functions
-- `decide_log` and `general`.
--
-- ARGV[1]   'lists' if all are calls that `acquire_log` decides on lists, or ''
-- then for each call
--   that `acquire_log` decides: what this takes; `again` is 1 if an earlier one has its key
--   any other: '', how many charges, then what `acquire` takes for these
-- KEYS: those of each call
-- Reply: for each call its answer. A call that fails leaves the others alone: its answer is 'E' length:2 and the error.

local keys, args, last = KEYS, ARGV, #ARGV
local values = args[1] == 'lists' and call('MGET', unpack(keys)) or {}
local keys_end, args_end, answers = 0, 1, 0
local acquire

-- An answer takes the place of a key that is not needed any more.
local function answer(reply)
  if type(reply) ~= 'string' then
    -- Servers before version 7 put the place in the script before it.
    local failed = string.sub(string.gsub(reply.err, '@?user_script: ?%d+: ', ''), 1, 1000)
    reply = 'E' .. pack('<I2', #failed) .. failed
  end
  answers = answers + 1
  keys[answers] = reply
end

local function decide_all()
  while args_end < last do
    local first_key, first_arg = keys_end + 1, args_end + 1
    local numbers = args[first_arg]
    if numbers == '' then
      local charges = tonumber(args[first_arg + 1])
      keys_end, args_end = keys_end + charges, first_arg + 1 + 7 * charges
      acquire = acquire or general()
      answer(acquire({ unpack(keys, first_key, keys_end) }, { 'take', unpack(args, first_arg + 2, args_end) }))
    else
      keys_end, args_end = first_key, first_arg
      local key = keys[first_key]
      local count, window, again = read('<I4I7B', numbers)
      local value
      if again == 0 then
        value = values[first_key]
      end
      local reply = decide_log(key, numbers, count, window, value)
      if reply then
        answers = answers + 1
        keys[answers] = reply
      else
        acquire = acquire or general()
        answer(acquire({ key }, { 'take', 's', count, window, '1', '0', '', '' }))
      end
    end
  end
end

while args_end < last do
  local decided, failed = pcall(decide_all)
  if not decided then
    answer(type(failed) == 'table' and failed or { err = tostring(failed) })
  end
end
return table.concat(keys, '', 1, answers)
