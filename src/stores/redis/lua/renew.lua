-- Extends holds, one per key. ARGV: all ids in a row, packed leases: one for all, or one each. Answers a letter each: 1 renewed,
-- 0 lost. Never shortens, unless the clock was set back (see state.lua). The head's `next` stays what it was, which is not later
-- than the new end. What it needs of a record it unpacks at once, and what it calls is local: with many holds this is most of
-- what a server does for us.
local call, pcall, sub, pack, unpack, type = redis.call, redis.pcall, string.sub, struct.pack, struct.unpack, type
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local seconds = math.floor(now / 1000000)
local keys, ids, leases = KEYS, ARGV[1], ARGV[2]
local of_all = #leases == 8 and unpack('>d', leases)
local said = {}
for i = 1, #keys do
  local key = keys[i]
  local head = pcall('HGET', key, '.')
  local answer = '0'
  if type(head) == 'string' and #head > 60 and sub(head, 1, 2) == 'm2' then
    local id, held = sub(ids, 16 * i - 15, 16 * i), unpack('>I4', head, 11)
    local armed, life, ended = unpack('>I4dB', head, 47)
    -- Where its record is, and where in it.
    local from = 62 + ended
    local field, record, at = '.', head, from + 16
    if held > 1 then
      field = 'h' .. id
      record, at = call('HGET', key, field), 1
    elseif held == 0 or sub(head, from, from + 15) ~= id then
      record = false
    end
    if record then
      local ends, counter, weight, since, was = unpack('>ddI4dd', record, at)
      if ends > now then
        answer = '1'
        if ends - now > was then
          ends = now + was
          if field == '.' then record = sub(record, 1, 22) .. pack('>d', ends) .. sub(record, 31) end
        end
        local lease = of_all or unpack('>d', leases, 8 * i - 7)
        if lease > 0 and now + lease >= ends then ends = now + lease else lease = was end
        if lease == was then
          record = sub(record, 1, at - 1) .. pack('>d', ends) .. sub(record, at + 8)
        else
          record = sub(record, 1, at - 1) .. pack('>ddI4dd', ends, counter, weight, since, lease) .. sub(record, at + 36)
        end
        if seconds - armed > life / 16 then
          if field == '.' then head = record end
          call('HSET', key, '.', sub(head, 1, 46) .. pack('>I4', seconds) .. sub(head, 51))
          call('EXPIRE', key, life + math.ceil(life / 8))
          if field ~= '.' then call('HSET', key, field, record) end
        else
          call('HSET', key, field, record)
        end
      end
    end
  end
  said[i] = answer
end
return table.concat(said)
