-- By how many microseconds the latest grant or renewal of a name lies ahead of the server's clock: more than 0 if the clock was
-- set back since. Changes nothing.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local head = redis.pcall('HGET', KEYS[1], '.')
if type(head) ~= 'string' or #head < HEAD_size then return 0 end
local HEAD_fields = struct.unpack(FORMAT('HEAD'), head)
if form ~= FORM then return 0 end
if held == 1 then
  local HOLDER_fields = struct.unpack(FORMAT('HOLDER'), head, HEAD_size + ID_size + 1 + ended)
  last = math.max(last, ends - lease)
end
return math.max(last - now, 0)
