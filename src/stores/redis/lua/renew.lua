-- Extends holds, one per key. ARGV: id and lease of each. Answers a letter each: 1 renewed, 0 lost. Never shortens.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local seconds = math.floor(now / 1000000)
local said = {}
for i, key in ipairs(KEYS) do
  local id, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local head = redis.pcall('HGET', key, '.')
  said[i] = '0'
  if type(head) == 'string' and #head > 60 and string.sub(head, 1, 2) == 'm2' then
    local held, _, next = struct.unpack('>I4dd', head, 11)
    local armed, life, ended, kept = struct.unpack('>I4dBH', head, 47)
    local from, record = 62 + ended, false
    if held > 1 then
      record = redis.call('HGET', key, 'h' .. id)
    elseif held == 1 and string.sub(head, from, from + 15) == id then
      record = string.sub(head, from + 16, from + kept - 1)
    end
    if record and struct.unpack('>d', record) > now then
      said[i] = '1'
      local ends, counter, weight, since = struct.unpack('>ddI4dd', record)
      if lease > 0 and now + lease >= ends then
        if held == 1 then next = now + lease end
        record = struct.pack('>ddI4dd', now + lease, counter, weight, since, lease) .. string.sub(record, 37)
      end
      local arm = seconds - armed > life / 16
      if arm then armed = seconds end
      if held > 1 then
        redis.call('HSET', key, 'h' .. id, record)
      else
        head = string.sub(head, 1, 22) .. struct.pack('>d', next) .. string.sub(head, 31, from + 15) .. record
          .. string.sub(head, from + kept)
      end
      if held == 1 or arm then
        redis.call('HSET', key, '.', string.sub(head, 1, 46) .. struct.pack('>I4', armed) .. string.sub(head, 51))
      end
      if arm then redis.call('EXPIRE', key, life + math.ceil(life / 8)) end
    end
  end
end
return table.concat(said)
