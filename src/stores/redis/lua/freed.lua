-- The head of the release's script: the only holder leaves, and the next of those who wait, if any, takes all. Whatever is rarer
-- goes on to state.lua and release.lua, and nothing has been written then.
do
  local id = ARGV[1]
  local values = redis.pcall('HMGET', KEYS[1], '.', 'h' .. id, 'e')
  local head, mine = values[1], values[2]
  if not values.err and head and mine and #head == 122 and string.sub(head, 91) == id
      and string.sub(mine, 42, 57) == ARGV[2] then
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    local capacity, used, held, last, next, first, tail, waiting, refreshed, armed, life = struct.unpack('>ddddddddddd', head, 3)
    local ended = string.sub(id, 1, 16) .. '0' .. string.sub(values[3] or '', 1, 255)
    if held == 1 and now < struct.unpack('>d', mine) and now / 1000000 - armed < life / 16 then
      if waiting == 0 and refreshed == 0 then
        redis.call('HDEL', KEYS[1], 'h' .. id)
        redis.call('HSET', KEYS[1],
          '.', 'm1' .. struct.pack('>ddddddddddd', capacity, 0, 0, last, 0, 0, 0, 0, 0, armed, life), 'e', ended)
        return 0
      end
      local number = string.format('%.0f', first)
      local waits = waiting > 0 and redis.call('HGET', KEYS[1], 'q' .. number)
      if waits and (waiting > 1 or refreshed == 0) and string.sub(waits, 33, 64) == '                                ' then
        local weight, lease, since = struct.unpack('>ddd', waits, 65)
        if weight == capacity and now < since + ARGV[4] then
          local other, rest = string.sub(waits, 1, 32), string.sub(waits, 89)
          local left = string.sub(rest, 1, 1) == 'r' and math.min(lease, tonumber(ARGV[5])) or lease
          last = math.max(last + 1, now)
          local reached = redis.call('PUBLISH', ARGV[3] .. string.sub(rest, 2, 17),
            string.format('G %s %.0f %.0f %.0f %.0f %s', other, last, lease, left, now, KEYS[1]))
          if reached > 0 or ARGV[6] ~= '1' then
            redis.call('HDEL', KEYS[1], 'h' .. id, 'q' .. number, 'w' .. other)
            redis.call('HSET', KEYS[1],
              '.', 'm1' .. struct.pack('>ddddddddddd', capacity, weight, 1, last, now + left, first + 1, tail, waiting - 1,
                refreshed, armed, life) .. other,
              'h' .. other, struct.pack('>ddddd', now + left, last, weight, now, lease) .. rest,
              'e', ended)
            return 0
          end
        end
      end
    end
  end
end
