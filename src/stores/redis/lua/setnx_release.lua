-- Deletes the key of a lock if it has our value. KEYS: the key, and where to mark the release of a claim that may arrive later.
-- ARGV: the value, how long the mark stays in ms. Returns 0 released, 1 expired, 2 taken over.
local held = redis.pcall('GET', KEYS[1])
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 0
end
if KEYS[2] then redis.call('SET', KEYS[2], '', 'PX', ARGV[2]) end
return held and 2 or 1
