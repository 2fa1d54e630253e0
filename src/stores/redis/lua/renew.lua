-- Extends holds, one per key. ARGV: all ids in a row, packed leases: one for all, or one each. Answers a letter each: 1 renewed,
-- 0 lost. Never shortens. The head's `next` stays what it was, which is not later than the new end.
local call, pcall, sub, byte, pack, unpack = redis.call, redis.pcall, string.sub, string.byte, struct.pack, struct.unpack
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local seconds = math.floor(now / 1000000)
local ids, leases = ARGV[1], ARGV[2]
local of_all = #leases == 8 and unpack('>d', leases)
local said = {}
for i, key in ipairs(KEYS) do
  local head = pcall('HGET', key, '.')
  said[i] = '0'
  if type(head) == 'string' and #head > 60 and sub(head, 1, 2) == 'm2' then
    local id, held = sub(ids, 16 * i - 15, 16 * i), unpack('>I4', head, 11)
    -- Where its record is, and where in it.
    local from = 62 + byte(head, 59)
    local field, record, at = '.', head, from + 16
    if held > 1 then
      field = 'h' .. id
      record, at = call('HGET', key, field), 1
    elseif held == 0 or sub(head, from, from + 15) ~= id then
      record = false
    end
    local ends = record and unpack('>d', record, at) or 0
    if ends > now then
      said[i] = '1'
      local lease, was = of_all or unpack('>d', leases, 8 * i - 7), unpack('>d', record, at + 28)
      if lease > 0 and now + lease >= ends then ends = now + lease else lease = was end
      if lease == was then
        record = sub(record, 1, at - 1) .. pack('>d', ends) .. sub(record, at + 8)
      else
        record = sub(record, 1, at - 1) .. pack('>d', ends) .. sub(record, at + 8, at + 27) .. pack('>d', lease)
          .. sub(record, at + 36)
      end
      local armed, life = unpack('>I4d', head, 47)
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
return table.concat(said)
