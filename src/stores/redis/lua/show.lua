-- Who holds a name. Changes nothing. Answers capacity, waiting, and for each holder counter, weight, held for, what is left of
-- the lease, rest.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local head = redis.pcall('HGET', KEYS[1], '.')
if type(head) ~= 'string' or #head < 61 or string.sub(head, 1, 2) ~= 'm2' then return {} end
local capacity, _, held, _, _, _, _, waiting, _, _, _, ended, kept = struct.unpack('>I4I4I4ddi4i4I4I4I4dBH', head, 3)
if held == 0 then return {} end
local shown = {string.format('%.0f', capacity), string.format('%.0f', waiting)}
local function show(record)
  local ends, counter, weight, since = struct.unpack('>ddI4dd', record)
  if ends > now then
    shown[#shown + 1] = string.format('%.0f %.0f %.0f %.0f %s', counter, weight, math.max(now - since, 0), ends - now,
      string.sub(record, 55))
  end
end
if held == 1 then
  show(string.sub(head, 78 + ended, 61 + ended + kept))
  return shown
end
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 1) == 'h' then show(fields[i + 1]) end
end
return shown
