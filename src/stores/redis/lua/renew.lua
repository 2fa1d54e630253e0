-- Extends holds, one per key. ARGV: all ids in a row; packed leases, one for all or one each. Returns a letter each: 1 renewed,
-- 0 lost. Never shortens a lease, unless the clock was set back (see state.lua). The head's `next_end` stays as it was, which is
-- not later than the new end. It unpacks only what it needs of a record, and what it calls is local: with many holds this is
-- most of what a server does for us.
local call, pcall, sub, pack, unpack, type = redis.call, redis.pcall, string.sub, struct.pack, struct.unpack, type
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local seconds = math.floor(now / 1000000)
local keys, ids, leases = KEYS, ARGV[1], ARGV[2]
local of_all = #leases == LEASE_size and unpack(FORMAT('LEASE'), leases)
local answers = {}
for i = 1, #keys do
  local key = keys[i]
  local head = pcall('HGET', key, '.')
  local answer = '0'
  if type(head) == 'string' and #head >= HEAD_size and sub(head, HEAD_at_form, HEAD_to_form) == FORM then
    local id, held = sub(ids, ID_size * (i - 1) + 1, ID_size * i), unpack(FORMAT('HEAD.held'), head, HEAD_at_held)
    local armed, life, ended = unpack(FORMAT('HEAD.armed,life,ended'), head, HEAD_at_armed)
    -- Where its record is, and how many bytes stand before it there.
    local field, record, before = '.', head, HEAD_size + ID_size + ended
    if held > 1 then
      field = 'h' .. id
      record, before = call('HGET', key, field), 0
    elseif held == 0 or sub(head, HEAD_size + 1 + ended, before) ~= id then
      record = false
    end
    if record then
      local HOLDER_fields = unpack(FORMAT('HOLDER'), record, before + 1)
      local was = lease
      if ends > now then
        answer = '1'
        if ends - now > was then
          ends = now + was
          if field == '.' then
            record = sub(record, 1, HEAD_at_next_end - 1) .. pack(FORMAT('HEAD.next_end'), ends)
              .. sub(record, HEAD_to_next_end + 1)
          end
        end
        lease = of_all or unpack(FORMAT('LEASE'), leases, LEASE_size * (i - 1) + 1)
        if lease > 0 and now + lease >= ends then ends = now + lease else lease = was end
        if lease == was then
          record = sub(record, 1, HOLDER_at_ends - 1 + before) .. pack(FORMAT('HOLDER.ends'), ends)
            .. sub(record, HOLDER_to_ends + 1 + before)
        else
          record = sub(record, 1, before) .. pack(FORMAT('HOLDER'), HOLDER_fields) .. sub(record, HOLDER_size + 1 + before)
        end
        if seconds - armed > life / 16 then
          if field == '.' then head = record end
          call('HSET', key, '.', sub(head, 1, HEAD_at_armed - 1) .. pack(FORMAT('HEAD.armed'), seconds)
            .. sub(head, HEAD_to_armed + 1))
          call('EXPIRE', key, life + math.ceil(life / 8))
          if field ~= '.' then call('HSET', key, field, record) end
        else
          call('HSET', key, field, record)
        end
      end
    end
  end
  answers[i] = answer
end
return table.concat(answers)
