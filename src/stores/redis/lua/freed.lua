-- The head of the release's script: the only holder leaves, and the next of those who wait, if any, takes all. Whatever is rarer
-- goes on to state.lua and release.lua, and nothing has been written then.
do
  local id = ARGV[1]
  local head = redis.pcall('HGET', KEYS[1], '.')
  if type(head) == 'string' and #head > 60 and string.sub(head, 1, 2) == 'm2' then
    local capacity, used, held, last, next, first, tail, waiting, refreshed, armed, life, ended, kept = struct.unpack(
      '>I4I4I4ddi4i4I4I4I4dBH', head, 3)
    local from = 62 + ended
    if held == 1 and string.sub(head, from, from + 15) == id and string.sub(head, from + 53, from + 68) == ARGV[2] then
      local clock = redis.call('TIME')
      local now = clock[1] * 1000000 + clock[2]
      if now < struct.unpack('>d', head, from + 16) and now / 1000000 - armed < life / 16 then
        ended = math.min(ended, 135)
        if waiting == 0 and refreshed == 0 then
          redis.call('HSET', KEYS[1], '.', 'm2' .. struct.pack('>I4I4I4ddi4i4I4I4I4dBH', capacity, 0, 0, last, 0, 0, 0, 0, 0,
            armed, life, ended + 9, 0) .. string.sub(id, 1, 8) .. '0' .. string.sub(head, 62, 61 + ended))
          return 0
        end
        -- The record of the first that waits: in the head, or in a field of its own.
        from = from + kept
        local inside, number = #head >= from, ''
        local waits, at, size = head, from + 2, 0
        if inside then
          size = struct.unpack('>H', head, from)
        elseif waiting > 0 then
          number = string.format('%d', first)
          waits, at = redis.call('HGET', KEYS[1], 'q' .. number), 1
          size = waits and #waits or 0
        end
        if size > 0 and (waiting > 1 or refreshed == 0) and string.sub(waits, at + 16, at + 31) == '                ' then
          local weight, lease, since = struct.unpack('>I4dd', waits, at + 32)
          local client_life, grace, counted = struct.unpack('>ddB', ARGV[4])
          if weight == capacity and now < since + client_life then
            local other, rest = string.sub(waits, at, at + 15), string.sub(waits, at + 52, at + size - 1)
            local left = string.sub(rest, 1, 1) == 'r' and math.min(lease, grace) or lease
            last = math.max(last + 1, now)
            local reached = redis.call('PUBLISH', ARGV[3] .. string.sub(rest, 2, 17),
              'G' .. other .. struct.pack('>dddd', last, lease, left, now) .. KEYS[1])
            if reached > 0 or counted == 0 then
              if not inside then redis.call('HDEL', KEYS[1], 'q' .. number, 'w' .. other) end
              redis.call('HSET', KEYS[1], '.', 'm2' .. struct.pack('>I4I4I4ddi4i4I4I4I4dBH', capacity, weight, 1, last, now + left,
                first + 1, tail, waiting - 1, refreshed, armed, life, ended + 9, 52 + #rest) .. string.sub(id, 1, 8) .. '0'
                .. string.sub(head, 62, 61 + ended) .. other .. struct.pack('>ddI4dd', now + left, last, weight, now, lease)
                .. rest .. string.sub(head, from + 2 + size))
              return 0
            end
          end
        end
      end
    end
  end
end
