-- Who holds a name. Changes nothing. Answers capacity, waiting, and for each holder counter, weight, held for, rest.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local head = redis.pcall('HGET', KEYS[1], '.')
if type(head) ~= 'string' then return {} end
if #head < 90 or string.sub(head, 1, 2) ~= 'm1' then return {} end
local capacity, _, held, _, _, _, _, waiting = struct.unpack('>dddddddd', head, 3)
if held == 0 then return {} end
local shown = {string.format('%.0f', capacity), string.format('%.0f', waiting)}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 1) == 'h' then
    local ends, counter, weight, since = struct.unpack('>dddd', fields[i + 1])
    if ends > now then
      shown[#shown + 1] = string.format('%.0f %.0f %.0f %s', counter, weight, now - since,
        string.sub(fields[i + 1], 59))
    end
  end
end
return shown
