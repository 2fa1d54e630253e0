-- Extends holds of ours, and of nobody else; never shortens one. KEYS: one each. ARGV: owners and leases in ms, in turn.
-- Returns a letter each: 1 renewed, 0 lost.
local answers = {}
for i = 1, #KEYS do
  local key, me, lease = KEYS[i], ARGV[2 * i - 1], ARGV[2 * i]
  local reads = redis.pcall('HEXISTS', key, me) == 1
  answers[i] = '0'
  if reads or redis.pcall('HEXISTS', key, me .. ':write') == 1 then
    redis.call('PEXPIRE', key, lease, 'GT')
    if reads and redis.call('HEXISTS', key, 'mode') == 1 then
      local mine = reader_key(key, me, 1)
      if redis.call('PTTL', mine) < tonumber(lease) then redis.call('SET', mine, '1', 'PX', lease) end
    end
    answers[i] = '1'
  end
end
return table.concat(answers)
