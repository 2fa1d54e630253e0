-- The fast path of a claim, run before state.lua and claim.lua: takes a free name, or joins the queue of one that is held. For
-- anything rarer it writes nothing and falls through to them.
--
-- Lua hashes every string that it makes, byte by byte, which is a fifth of what a script costs. So this makes as few and as
-- short ones as it can, and packs a record at once.
do
  local call, sub, find, pack, unpack = redis.call, string.sub, string.find, struct.pack, struct.unpack
  local key, id, rest = KEYS[1], ARGV[1], ARGV[4]
  local head = redis.pcall('HGET', key, '.')
  if type(head) == 'string' and #head >= HEAD_size and #id == ID_size and #rest < 1000
      and ARGV[3] == '' and not find(head, sub(id, 1, ENDED_to_id), HEAD_size + 1, true) then
    local HEAD_fields = unpack(FORMAT('HEAD'), head)
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    local CLAIM_fields = unpack(FORMAT('CLAIM'), ARGV[2])
    if form == FORM and now / 1000000 - armed < life / 16 and lease <= life * 100000 then
      if held == 0 and waiting == 0 and weight <= claimed then
        last = math.max(last + 1, now)
        call('HSET', key, '.', pack(FORMAT('HEAD c0 ID HOLDER c0'),
          HEAD_with{capacity = claimed, used = weight, held = 1, next_end = now + lease, front = 0, back = 0,
            kept = ID_size + HOLDER_size + #rest},
          sub(head, HEAD_size + 1, HEAD_size + ended),
          id, HOLDER_with{ends = now + lease, counter = last, since = now}, rest))
        return pack(FORMAT('VERDICT GRANT'), 'G', GRANT_with{counter = last, left = lease})
      end
      local before = HEAD_size + ended  -- bytes before the holder
      local inside = waiting == 0 or #head > before + kept
      if held > 0 and now < next_end and claimed == capacity and kept > 0 and flags % 2 == 1
          and (held == 1 or waiting > 0 or not call('HGET', key, 'k'))
          and (waiting > 0 or used + weight > capacity) and (waiting < IN_HEAD and #head < 1000 or not inside)
          and (held == 1 and inside or not call('HGET', key, 'h' .. id)
            and not call('HGET', key, 'w' .. id)) then
        local holder, at, last_byte = head, ID_size + 1 + before, before + kept
        if held > 1 then
          holder, at, last_byte = call('HGET', key, 'h' .. sub(head, before + 1, before + ID_size)), 1, -1
        end
        local held_HOLDER_fields = unpack(FORMAT('HOLDER'), holder, at)
        if held_ends - now <= held_lease and (held == 1 or next_end - now <= LOOK) then  -- else the clock was set back
          if sub(holder, HOLDER_size + OWNER_at_kept - 1 + at, HOLDER_size + OWNER_to_kept - 1 + at) == 'k' and held == 1 then
            redis.pcall('PUBLISH', ARGV[5] .. sub(holder, HOLDER_size + OWNER_at_client - 1 + at, HOLDER_size + OWNER_to_client - 1 + at),
              pack(FORMAT('VERDICT ID c0'), 'W', sub(head, before + 1, before + ID_size), key))
          end
          if waiting == 0 then front, back = 0, 0 end
          if inside then
            call('HSET', key, '.', pack(FORMAT('HEAD<front HEAD.front,back,waiting c0 LENGTH WAITER c0'),
              head, front, back + 1, waiting + 1, sub(head, HEAD_to_waiting + 1),
              WAITER_size + #rest, WAITER_with{instead = NOTHING, since = now}, rest))
          else
            local number = string.format('%d', back)
            call('HSET', key, '.', pack(FORMAT('HEAD<front HEAD.front,back,waiting c0'),
              head, front, back + 1, waiting + 1, sub(head, HEAD_to_waiting + 1)),
              'q' .. number, pack(FORMAT('WAITER c0'), WAITER_with{instead = NOTHING, since = now}, rest),
              'w' .. id, number)
          end
          return pack(FORMAT('VERDICT STANDING BLOCKER c0'), 'Q', STANDING_with{place = waiting + 1, free_in = next_end - now},
            BLOCKER_with{counter = held_counter, held_for = math.max(now - held_since, 0)},
            sub(holder, HOLDER_size + OWNER_size + at, last_byte))
        end
      end
    end
  end
end
