-- Extends holds, one per key. ARGV: id and lease of each. Answers a letter each: 1 renewed, 0 lost. Never shortens.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local said = {}
for i, key in ipairs(KEYS) do
  local id, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local values = redis.pcall('HMGET', key, '.', 'h' .. id)
  local head, record = values[1], values[2]
  said[i] = '0'
  if not values.err and head and record then
    local ends, counter, weight, since, old = struct.unpack('>ddddd', record)
    if ends > now then
      said[i] = '1'
      if lease > 0 and now + lease >= ends then
        record = struct.pack('>ddddd', now + lease, counter, weight, since, lease) .. string.sub(record, 41)
      end
      redis.call('HSET', key, 'h' .. id, record)
      local armed, life = struct.unpack('>dd', head, 75)
      local seconds = math.floor(now / 1000000)
      if seconds - armed > life / 16 then
        redis.call('HSET', key, '.', string.sub(head, 1, 74) .. struct.pack('>d', seconds) .. string.sub(head, 83))
        redis.call('EXPIRE', key, life + math.ceil(life / 8))
      end
    end
  end
end
return table.concat(said)
