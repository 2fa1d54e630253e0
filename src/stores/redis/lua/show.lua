-- The holders of a name. Changes nothing. Returns the capacity, the number of waiters, and for each holder: counter, weight, how long it
-- has held, what is left of its lease, and the text of its rest.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local head = redis.pcall('HGET', KEYS[1], '.')
if type(head) ~= 'string' or #head < HEAD_size then return {} end
local HEAD_fields = struct.unpack(FORMAT('HEAD'), head)
if form ~= FORM or held == 0 then return {} end
local shown = {string.format('%.0f', capacity), string.format('%.0f', waiting)}
local function show(record)
  local HOLDER_fields = struct.unpack(FORMAT('HOLDER'), record)
  if ends > now then
    shown[#shown + 1] = string.format('%.0f %.0f %.0f %.0f %s', counter, weight, math.max(now - since, 0), ends - now,
      string.sub(record, HOLDER_size + OWNER_size + 1))
  end
end
if held == 1 then
  show(string.sub(head, HEAD_size + ID_size + 1 + ended, HEAD_size + ended + kept))
  return shown
end
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 1) == 'h' then show(fields[i + 1]) end
end
return shown
