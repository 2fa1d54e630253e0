-- By how many microseconds the latest grant or renewal that a name knows of lies ahead of the clock: more than nothing if the
-- clock was set back since. Changes nothing.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local head = redis.pcall('HGET', KEYS[1], '.')
if type(head) ~= 'string' or #head < 61 or string.sub(head, 1, 2) ~= 'm2' then return 0 end
local held, latest = struct.unpack('>I4d', head, 11)
if held == 1 then
  local ends, _, _, _, lease = struct.unpack('>ddI4dd', head, 78 + string.byte(head, 59))
  latest = math.max(latest, ends - lease)
end
return math.max(latest - now, 0)
