-- Who holds a name. Changes nothing. Answers capacity, waiting, and for each holder counter, weight, held for, rest.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local head = redis.pcall('HGET', KEYS[1], '.')
if type(head) ~= 'string' then return {} end
local capacity, held, waiting = string.match(head, '^m1 (%d+) %d+ (%d+) %d+ %d+ %-?%d+ %-?%d+ (%d+) ')
local shown = {capacity, waiting}
if not capacity or held == '0' then return {} end
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 1) == 'h' then
    local ends, counter, weight, since, rest = string.match(fields[i + 1], '^(%d+) (%d+) (%d+) (%d+) %d+ (.*)$')
    if tonumber(ends) > now then
      shown[#shown + 1] = string.format('%s %s %.0f %s', counter, weight, now - since, rest)
    end
  end
end
return shown
