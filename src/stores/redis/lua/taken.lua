-- The head of the claim's script: a name that is free is taken, and one that is not is waited for. Whatever is rarer goes on to
-- state.lua and claim.lua, and nothing has been written then.
--
-- Lua hashes each string that is made, byte by byte, and that is most of what a script costs: so as few and as short ones as
-- can be.
do
  local id, rest = ARGV[1], ARGV[4]
  local head = redis.pcall('HGET', KEYS[1], '.')
  if type(head) == 'string' and #head > 60 and string.sub(head, 1, 2) == 'm2' and #id == 16 and #rest < 1000
      and ARGV[3] == '' and not string.find(head, string.sub(id, 1, 8), 62, true) then
    local of, used, held, last, next, first, tail, waiting, refreshed, armed, life, ended, kept = struct.unpack(
      '>I4I4I4ddi4i4I4I4I4dBH', head, 3)
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    local capacity, weight, lease, flags = struct.unpack('>I4I4dB', ARGV[2])
    if now / 1000000 - armed < life / 16 and lease <= life * 100000 then
      if held == 0 and waiting == 0 and weight <= capacity then
        last = math.max(last + 1, now)
        redis.call('HSET', KEYS[1], '.', 'm2' .. struct.pack('>I4I4I4ddi4i4I4I4I4dBH', capacity, weight, 1, last, now + lease,
          0, 0, 0, refreshed, armed, life, ended, 52 + #rest) .. string.sub(head, 62, 61 + ended) .. id
          .. struct.pack('>ddI4dd', now + lease, last, weight, now, lease) .. rest)
        return 'G' .. struct.pack('>dddd', last, lease, lease, now)
      end
      local from = 62 + ended
      local inside = waiting == 0 or #head >= from + kept
      if held > 0 and now < next and capacity == of and kept > 0 and flags % 2 == 1
          and (waiting > 0 or used + weight > of) and (waiting < 4 and #head < 1000 or not inside)
          and (held == 1 and inside or not redis.call('HGET', KEYS[1], 'h' .. id)
            and not redis.call('HGET', KEYS[1], 'w' .. id)) then
        if waiting == 0 then first, tail = 0, 0 end
        local before, count, after = string.sub(head, 1, 30), struct.pack('>i4i4I4', first, tail + 1, waiting + 1),
          string.sub(head, 43)
        local terms = struct.pack('>I4dd', weight, lease, now)
        if inside then
          redis.call('HSET', KEYS[1], '.', before .. count .. after .. struct.pack('>H', 52 + #rest) .. id
            .. '                ' .. terms .. rest)
        else
          local number = string.format('%d', tail)
          redis.call('HSET', KEYS[1], '.', before .. count .. after, 'q' .. number,
            id .. '                ' .. terms .. rest, 'w' .. id, number)
        end
        local holder, at, ends = head, from + 16, from + kept - 1
        if held > 1 then
          holder, at, ends = redis.call('HGET', KEYS[1], 'h' .. string.sub(head, from, from + 15)), 1, -1
        end
        local _, counter, _, began = struct.unpack('>ddI4dd', holder, at)
        return 'Q' .. struct.pack('>ddddd', waiting + 1, next - now, now, counter, now - began)
          .. string.sub(holder, at + 54, ends)
      end
    end
  end
end
