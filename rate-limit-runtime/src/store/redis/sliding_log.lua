-- Decides a call of weight 1 on one sliding window where nothing has to be put right, as most are. It leaves by `return` with the answer, or
-- at the end with nothing written: then the algorithm decides (sliding_window.lua, with the layouts).
--
-- Takes key, numbers as `acquire_log` does, count, window and value: what the key holds, false if that is nothing, nil to be read.
--
-- A script costs the commands it calls, the bytes of the strings it makes, and its closures, which each call makes anew. So there are none
-- here, and whatever can be is left as it lies in the server.

repeat
  if count > 128 then
    -- With the first slots, in which the oldest are until the ring has turned.
    local header = call('GETRANGE', key, '0', '82')
    if #header < 34 then
      break
    end
    local tag, expiry, kept, size, head, length = read('<BI7I7I4I4I4', header)
    if tag ~= 114 or kept ~= window or size < count or head >= size or length == 0 or length > size
      or expiry > now + 2 * window then
      break
    end
    -- A few of the oldest, since seldom more leave the window at once. In a full ring the newest lies just before them.
    local first, last = 27 + 7 * head, 27 + 7 * ((head + length - 1) % size)
    local oldest, at, newest
    if head == 0 then
      oldest, at = header, 28
    elseif last == first - 7 then
      oldest, at = call('GETRANGE', key, tostring(last), tostring(last + 62)), 8
    else
      oldest, at = call('GETRANGE', key, tostring(first), tostring(first + 55)), 1
    end
    newest = at == 8 and oldest or call('GETRANGE', key, tostring(last), tostring(last + 6))
    if #newest < 7 or #oldest < at + 6 then
      break
    end
    newest = read('<I7', newest)
    if newest > now + 1000 or expiry < newest + window then
      break
    end
    local expired, known = 0, math.min(math.floor((#oldest - at + 1) / 7), length)
    local entry = read('<I7', oldest, at)
    if length >= count then
      -- The entry that is in the way. It is not the oldest in a ring that had a larger count.
      local way = entry
      if length > count then
        local from = 27 + 7 * ((head + length - count) % size)
        way = call('GETRANGE', key, tostring(from), tostring(from + 6))
        if #way < 7 then
          break
        end
        way = read('<I7', way)
      end
      if way + window > now then
        return pack('<I2I4I7I7', 68, 0, way + window - now, newest + window - now)
      end
    end
    while entry + window <= now do
      expired = expired + 1
      if expired == known then
        break
      end
      entry = read('<I7', oldest, at + 7 * expired)
    end
    if expired == known or expiry < now + window then
      break
    end
    if head == 0 and length == math.floor(size / 2) and size >= 1000 and size <= 100000 then
      -- The server doubles a value that grows. Halfway it is given the length of the whole ring, and grows no more.
      local half = call('GETRANGE', key, '0', '-1')
      call('SET', key, half .. string.rep('\0', 27 + 7 * size - #half), 'KEEPTTL')
    end
    head, length = (head + expired) % size, length - expired
    local hit = newest < now and now or newest + 1
    call('SETRANGE', key, tostring(27 + 7 * ((head + length) % size)), pack('<I7', hit))
    call('SETRANGE', key, '19', pack('<I4I4', head, length + 1))
    return pack('<I2I4I7I7', 65, count - length - 1, hit + window - now, hit)
  end

  if value == nil then
    value = call('GET', key)
  end
  if not value then
    -- What holds no string was read as nothing if it was read with others.
    if call('SET', key, pack('<BI7I7I7', 108, now + 2 * window, window, now), 'PX', string.sub(numbers, 13), 'NX') then
      return pack('<I2I4I7I7', 65, count - 1, window, now)
    end
    break
  end
  local bytes = #value
  if bytes < 22 or bytes % 7 ~= 1 then
    break
  end
  local tag, expiry, kept, entry = read('<BI7I7I7', value)
  local newest = read('<I7', value, bytes - 6)
  if tag ~= 108 or kept ~= window or newest > now + 1000 or expiry < newest + window or expiry > now + 2 * window then
    break
  end
  -- Where the entry begins that is in the way, if there is one; then the first one that counts.
  local from = bytes - 7 * count + 1
  local full = from >= 16
  if from > 16 then
    entry = read('<I7', value, from)
  else
    from = 16
  end
  if entry + window <= now then
    repeat
      from = from + 7
    until from > bytes or read('<I7', value, from) + window > now
  elseif full then
    return pack('<I2I4I7I7', 68, 0, entry + window - now, newest + window - now)
  end
  local hit = newest < now and now or newest + 1
  local added = pack('<I7', hit)
  local short = bytes <= 127
  if from > bytes or expiry < now + window then
    call('SET', key, pack('<BI7I7', 108, now + 2 * window, window) .. string.sub(value, from) .. added, 'PX',
      string.sub(numbers, 13))
  elseif from == 16 and (short or bytes ~= 7 * count + 8) or from > 16 and from < 72 and not short then
    -- Appending may double what the list takes, so a long one is written as a whole when it is full. After that, a few that have left the
    -- window stay in it.
    call('APPEND', key, added)
  elseif from == 23 then
    call('SETRANGE', key, '15', string.sub(value, from) .. added)
  else
    call('SET', key, string.sub(value, 1, 15) .. string.sub(value, from) .. added, 'KEEPTTL')
  end
  return pack('<I2I4I7I7', 65, count - (bytes - from + 1) / 7 - 1, hit + window - now, hit)
until true
