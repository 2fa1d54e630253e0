-- Extends holds, one per key. ARGV: id and lease of each. Answers a letter each: 1 renewed, 0 lost. Never shortens.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local seconds = math.floor(now / 1000000)
local call, sub, pack, unpack = redis.call, string.sub, struct.pack, struct.unpack
local said = {}
for i, key in ipairs(KEYS) do
  local id, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local head = redis.pcall('HGET', key, '.')
  said[i] = '0'
  if type(head) == 'string' and #head > 60 and sub(head, 1, 2) == 'm2' then
    local held, _, next = unpack('>I4dd', head, 11)
    local armed, life, ended = unpack('>I4dB', head, 47)
    local from = 62 + ended
    local alone = held == 1 and sub(head, from, from + 15) == id
    local record = alone and head or held > 1 and call('HGET', key, 'h' .. id)
    local at = alone and from + 16 or 1
    local ends, counter, weight, since, old = 0, 0, 0, 0, 0
    if record then ends, counter, weight, since, old = unpack('>ddI4dd', record, at) end
    if ends > now then
      said[i] = '1'
      if lease > 0 and now + lease >= ends then
        ends, old = now + lease, lease
        if alone then next = ends end
      end
      local arm = seconds - armed > life / 16
      if arm then armed = seconds end
      local times = pack('>ddI4dd', ends, counter, weight, since, old)
      if alone then
        call('HSET', key, '.', sub(head, 1, 22) .. pack('>d', next) .. sub(head, 31, 46) .. pack('>I4', armed)
          .. sub(head, 51, from + 15) .. times .. sub(head, from + 52))
      else
        call('HSET', key, 'h' .. id, times .. sub(record, 37))
        if arm then call('HSET', key, '.', sub(head, 1, 46) .. pack('>I4', armed) .. sub(head, 51)) end
      end
      if arm then call('EXPIRE', key, life + math.ceil(life / 8)) end
    end
  end
end
return table.concat(said)
