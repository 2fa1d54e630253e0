-- The head of the release's script: the only holder leaves, and the next of those who wait, if any, takes all. Whatever is rarer
-- goes on to state.lua and release.lua, and nothing has been written then.
do
  local call, sub, pack, unpack = redis.call, string.sub, struct.pack, struct.unpack
  local key, id = KEYS[1], ARGV[1]
  local head = redis.pcall('HGET', key, '.')
  if type(head) == 'string' and #head > 60 then
    local form, capacity, used, held, last, next, first, tail, waiting, refreshed, armed, life, ended, kept = unpack(
      '>c2I4I4I4ddi4i4I4I4I4dBH', head)
    local from = 62 + ended
    if form == 'm2' and held == 1 and sub(head, from, from + 15) == id and sub(head, from + 53, from + 68) == ARGV[2] then
      local clock = redis.call('TIME')
      local now = clock[1] * 1000000 + clock[2]
      if now < unpack('>d', head, from + 16) and now / 1000000 - armed < life / 16 then
        ended = math.min(ended, 54)  -- of seven in all (REMEMBERED), nine bytes each
        if waiting == 0 and refreshed == 0 then
          call('HSET', key, '.', pack('>c2I4I4I4ddi4i4I4I4I4dBHc8c1c0', 'm2', capacity, 0, 0, last, 0, 0, 0, 0, 0,
            armed, life, ended + 9, 0, id, '0', sub(head, 62, 61 + ended)))
          return 0
        end
        -- The record of the first that waits: in the head, or in a field of its own.
        from = from + kept
        local inside, number = #head >= from, ''
        local waits, at, size = head, from + 2, 0
        if inside then
          size = unpack('>H', head, from)
        elseif waiting > 0 then
          number = string.format('%d', first)
          waits, at = call('HGET', key, 'q' .. number), 1
          size = waits and #waits or 0
        end
        if size > 0 and (waiting > 1 or refreshed == 0) and sub(waits, at + 16, at + 31) == '                ' then
          local weight, lease, since = unpack('>I4dd', waits, at + 32)
          local client_life, grace, counted = unpack('>ddB', ARGV[4])
          if weight == capacity and now >= since and now < since + client_life then
            local other, rest = sub(waits, at, at + 15), sub(waits, at + 52, at + size - 1)
            local left = sub(rest, 1, 1) == 'r' and math.min(lease, grace) or lease
            last = math.max(last + 1, now)
            local reached = redis.call('PUBLISH', ARGV[3] .. sub(rest, 2, 17),
              pack('>c1c16ddddc0', 'G', other, last, lease, left, now, key))
            if reached > 0 or counted == 0 then
              if not inside then call('HDEL', key, 'q' .. number, 'w' .. other) end
              call('HSET', key, '.', pack('>c2I4I4I4ddi4i4I4I4I4dBHc8c1c0c16ddI4ddc0c0', 'm2', capacity, weight, 1, last,
                now + left, first + 1, tail, waiting - 1, refreshed, armed, life, ended + 9, 52 + #rest, id, '0',
                sub(head, 62, 61 + ended), other, now + left, last, weight, now, lease, rest, sub(head, from + 2 + size)))
              return 0
            end
          end
        end
      end
    end
  end
end
