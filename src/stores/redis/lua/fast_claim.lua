-- The head of the claim's script: a name that is free is taken, and one that is not is waited for. Whatever is rarer goes on to
-- state.lua and claim.lua, and nothing has been written then.
--
-- Lua hashes each string that is made, byte by byte, and that is a fifth of what a script costs: so as few and as short ones
-- as can be, and a record is packed at once.
do
  local call, sub, find, pack, unpack = redis.call, string.sub, string.find, struct.pack, struct.unpack
  local key, id, rest = KEYS[1], ARGV[1], ARGV[4]
  local head = redis.pcall('HGET', key, '.')
  if type(head) == 'string' and #head > 60 and #id == 16 and #rest < 1000
      and ARGV[3] == '' and not find(head, sub(id, 1, 8), 62, true) then
    local form, of, used, held, last, next, first, tail, waiting, refreshed, armed, life, ended, kept = unpack(
      '>c2I4I4I4ddi4i4I4I4I4dBH', head)
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    local capacity, weight, lease, flags = unpack('>I4I4dB', ARGV[2])
    if form == 'm2' and now / 1000000 - armed < life / 16 and lease <= life * 100000 then
      if held == 0 and waiting == 0 and weight <= capacity then
        last = math.max(last + 1, now)
        call('HSET', key, '.', pack('>c2I4I4I4ddi4i4I4I4I4dBHc0c16ddI4ddc0', 'm2', capacity, weight, 1, last, now + lease,
          0, 0, 0, refreshed, armed, life, ended, 52 + #rest, sub(head, 62, 61 + ended), id, now + lease, last, weight, now,
          lease, rest))
        return pack('>c1dddd', 'G', last, lease, lease, now)
      end
      local from = 62 + ended
      local inside = waiting == 0 or #head >= from + kept
      if held > 0 and now < next and capacity == of and kept > 0 and flags % 2 == 1
          and (waiting > 0 or used + weight > of) and (waiting < 4 and #head < 1000 or not inside)
          and (held == 1 and inside or not call('HGET', key, 'h' .. id)
            and not call('HGET', key, 'w' .. id)) then
        local holder, at, last_byte = head, from + 16, from + kept - 1
        if held > 1 then
          holder, at, last_byte = call('HGET', key, 'h' .. sub(head, from, from + 15)), 1, -1
        end
        local ends, counter, _, began, long = unpack('>ddI4dd', holder, at)
        if ends - now <= long and (held == 1 or next - now <= 5000000) then  -- else the clock was set back (LOOK)
          if waiting == 0 then first, tail = 0, 0 end
          if inside then
            call('HSET', key, '.', pack('>c30i4i4I4c0Hc16c16I4ddc0', head, first, tail + 1, waiting + 1, sub(head, 43),
              52 + #rest, id, '                ', weight, lease, now, rest))
          else
            local number = string.format('%d', tail)
            call('HSET', key, '.', pack('>c30i4i4I4c0', head, first, tail + 1, waiting + 1, sub(head, 43)), 'q' .. number,
              pack('>c16c16I4ddc0', id, '                ', weight, lease, now, rest), 'w' .. id, number)
          end
          return pack('>c1dddddc0', 'Q', waiting + 1, next - now, now, counter, math.max(now - began, 0),
            sub(holder, at + 54, last_byte))
        end
      end
    end
  end
end
