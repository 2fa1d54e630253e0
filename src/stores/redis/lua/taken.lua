-- The head of the claim's script: a name that is free is taken, and one that is not is waited for. Whatever is rarer goes on to
-- state.lua and claim.lua, and nothing has been written then.
do
  local id, flags = ARGV[1], ARGV[5]
  local values = redis.pcall('HMGET', KEYS[1], '.', 'h' .. id, 'w' .. id, 'e')
  local head = not values.err and values[1]
  if head and not values[2] and not values[3] and #head >= 90 and string.sub(head, 1, 2) == 'm1'
      and ARGV[6] == '                                ' and #id == 32
      and not (values[4] and string.find(values[4], string.sub(id, 1, 16), 1, true)) then
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    local capacity, weight, lease = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
    local of, used, held, last, next, first, tail, waiting, refreshed, armed, life = struct.unpack('>ddddddddddd', head, 3)
    if now / 1000000 - armed < life / 16 and lease <= life * 100000 then
      if held == 0 and waiting == 0 and weight <= capacity then
        last = math.max(last + 1, now)
        redis.call('HSET', KEYS[1],
          '.', 'm1' .. struct.pack('>ddddddddddd', capacity, weight, 1, last, now + lease, 0, 0, 0, refreshed, armed, life)
            .. id,
          'h' .. id, struct.pack('>ddddd', now + lease, last, weight, now, lease) .. ARGV[7])
        return string.format('G %.0f %.0f %.0f %.0f', last, lease, lease, now)
      end
      local blocking = #head > 90 and string.sub(head, 91, 122)
      if held > 0 and now < next and capacity == of and blocking and string.find(flags, 'q', 1, true)
          and (waiting > 0 or used + weight > of) then
        local holder = redis.call('HGET', KEYS[1], 'h' .. blocking)
        if waiting == 0 then first, tail = 0, 0 end
        local number = string.format('%.0f', tail)
        redis.call('HSET', KEYS[1],
          '.', string.sub(head, 1, 42) .. struct.pack('>ddd', first, tail + 1, waiting + 1) .. string.sub(head, 67),
          'q' .. number, id .. ARGV[6] .. struct.pack('>ddd', weight, lease, now) .. ARGV[7],
          'w' .. id, number)
        local _, counter, _, since = struct.unpack('>dddd', holder)
        return string.format('Q %.0f %.0f %.0f %.0f %.0f %s', waiting + 1, next - now, now, counter, now - since,
          string.sub(holder, 59))
      end
    end
  end
end
