-- The fast path of a release, run before state.lua and release.lua: the only holder leaves, and the first waiter, if there is one,
-- takes all. For anything rarer it writes nothing and falls through to them.
do
  local call, sub, pack, unpack = redis.call, string.sub, struct.pack, struct.unpack
  local key, id = KEYS[1], ARGV[1]
  local head = redis.pcall('HGET', key, '.')
  if type(head) == 'string' and #head >= HEAD_size then
    local HEAD_fields = unpack(FORMAT('HEAD'), head)
    local before = HEAD_size + ended  -- bytes before the holder
    if form == FORM and held == 1 and sub(head, before + 1, before + ID_size) == id
        and sub(head, ID_size + HOLDER_size + OWNER_at_client + before, ID_size + HOLDER_size + OWNER_to_client + before)
          == ARGV[2] then
      local clock = redis.call('TIME')
      local now = clock[1] * 1000000 + clock[2]
      if now < unpack(FORMAT('HOLDER.ends'), head, ID_size + HOLDER_at_ends + before)
          and now / 1000000 - armed < life / 16 then
        ended = math.min(ended, (REMEMBERED - 1) * ENDED_size)
        if waiting == 0 and refreshed == 0 then
          call('HSET', key, '.', pack(FORMAT('HEAD ENDED c0'),
            HEAD_with{used = 0, held = 0, next_end = 0, front = 0, back = 0, ended = ended + ENDED_size, kept = 0},
            ENDED_with{answer = '0'}, sub(head, HEAD_size + 1, HEAD_size + ended)))
          return 0
        end
        -- The record of the first waiter: in the head, or in a field of its own. `at`: bytes before it.
        before = before + kept
        local inside, number = #head > before, ''
        local record, at, size = head, before + LENGTH_size, 0
        if inside then
          size = unpack(FORMAT('LENGTH'), head, before + 1)
        elseif waiting > 0 then
          number = string.format('%d', front)
          record, at = call('HGET', key, 'q' .. number), 0
          size = record and #record or 0
        end
        if size > 0 and (waiting > 1 or refreshed == 0)
            and sub(record, at + WAITER_at_instead, at + WAITER_to_instead) == NOTHING then
          local weight, lease, since = unpack(FORMAT('WAITER.weight,lease,since'), record, at + WAITER_at_weight)
          local TERMS_fields = unpack(FORMAT('TERMS'), ARGV[4])
          if weight == capacity and now >= since and now < since + alive then
            local other, rest = sub(record, at + WAITER_at_id, at + WAITER_to_id), sub(record, WAITER_size + 1 + at, at + size)
            local left = sub(rest, OWNER_at_renewed, OWNER_to_renewed) == 'r' and math.min(lease, grace) or lease
            last = math.max(last + 1, now)
            local reached = redis.call('PUBLISH', ARGV[3] .. sub(rest, OWNER_at_client, OWNER_to_client),
              pack(FORMAT('VERDICT ID GRANT c0'), 'G', other, GRANT_with{counter = last}, key))
            if reached > 0 or counted == 0 then
              if not inside then call('HDEL', key, 'q' .. number, 'w' .. other) end
              call('HSET', key, '.', pack(FORMAT('HEAD ENDED c0 ID HOLDER c0 c0'),
                HEAD_with{used = weight, next_end = now + left, front = front + 1, waiting = waiting - 1,
                  ended = ended + ENDED_size, kept = ID_size + HOLDER_size + #rest},
                ENDED_with{answer = '0'}, sub(head, HEAD_size + 1, HEAD_size + ended),
                other, HOLDER_with{ends = now + left, counter = last, since = now}, rest,
                sub(head, LENGTH_size + 1 + before + size)))
              return 0
            end
          end
        end
      end
    end
  end
end
