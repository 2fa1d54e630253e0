-- Deletes the key of a lock if it has our value. KEYS: the key, and where its release is remembered, if it is: it may be repeated,
-- or its claim may arrive later. ARGV: the value, and for how many ms it is remembered.
-- Returns 0 released, 1 expired, 2 taken over.
local held, mark = redis.pcall('GET', KEYS[1]), KEYS[2]
if held == ARGV[1] and not mark then
  redis.call('DEL', KEYS[1])
  return 0
end
local answer = held and '2' or '1'
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  answer = '0'
elseif mark then
  local before = redis.call('GET', mark)
  if before then return tonumber(before) end
end
if mark then redis.call('SET', mark, answer, 'PX', ARGV[2]) end
return tonumber(answer)
