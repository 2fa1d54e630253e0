-- Extends holds, one per key. ARGV: id and lease of each. Answers a letter each: 1 renewed, 0 lost. Never shortens.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local said = {}
for i, key in ipairs(KEYS) do
  local id, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local values = redis.pcall('HMGET', key, '.', 'h' .. id)
  local record = not values.err and values[1] and values[2]
  local ends, tail = string.match(record or '', '^(%d+)( .*)$')
  said[i] = '0'
  if ends and tonumber(ends) > now then
    said[i] = '1'
    local counter, weight, since, old, rest = string.match(tail, '^ (%d+) (%d+) (%d+) (%d+) (.*)$')
    if lease > 0 and now + lease >= tonumber(ends) then
      record = string.format('%.0f %s %s %s %.0f %s', now + lease, counter, weight, since, lease, rest)
    end
    redis.call('HSET', key, 'h' .. id, record)
    local before, armed, life, after = string.match(values[1], '^(.* )(%d+) (%d+)( %x*)$')
    local seconds = math.floor(now / 1000000)
    if armed and seconds - armed > life / 16 then
      redis.call('HSET', key, '.', string.format('%s%.0f %s%s', before, seconds, life, after))
      redis.call('EXPIRE', key, life + math.ceil(life / 8))
    end
  end
end
return table.concat(said)
