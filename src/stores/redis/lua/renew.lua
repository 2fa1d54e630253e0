-- Extends holds, one per key. ARGV: id and lease of each. Answers a letter each: 1 renewed, 0 lost. Never shortens. The head's
-- `next` stays what it was, which is not later than the new end.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local seconds = math.floor(now / 1000000)
local call, pcall, sub, pack, unpack = redis.call, redis.pcall, string.sub, struct.pack, struct.unpack
local said = {}
for i = 1, #KEYS do
  local key, id, lease = KEYS[i], ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local head = pcall('HGET', key, '.')
  said[i] = '0'
  if type(head) == 'string' and #head > 60 and sub(head, 1, 2) == 'm2' then
    local held = unpack('>I4', head, 11)
    local from = 62 + string.byte(head, 59)
    -- Where its record is, and where in it.
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
      if lease > 0 and now + lease >= ends then ends = now + lease else lease = unpack('>d', record, at + 28) end
      record = sub(record, 1, at - 1) .. pack('>d', ends) .. sub(record, at + 8, at + 27) .. pack('>d', lease)
        .. sub(record, at + 36)
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
