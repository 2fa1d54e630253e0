-- Extends holds that have our values; never shortens one. KEYS: one each. ARGV: values and leases in ms, in turn.
-- Returns a letter each: 1 renewed, 0 lost.
local answers = {}
for i = 1, #KEYS do
  answers[i] = '0'
  if redis.pcall('GET', KEYS[i]) == ARGV[2 * i - 1] then
    redis.call('PEXPIRE', KEYS[i], ARGV[2 * i], 'GT')
    answers[i] = '1'
  end
end
return table.concat(answers)
