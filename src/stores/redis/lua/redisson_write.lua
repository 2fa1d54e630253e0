-- Takes a read-write lock as Redisson's writers do. A reader whose lease has run out is in nobody's way. KEYS: the hash, the
-- latch of the release. ARGV: the lease in ms, the owner. Returns nil granted, R released before, or for how many ms it is held.
local me = ARGV[2] .. ':write'
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
  local size = redis.call('HLEN', KEYS[1])
  if size > 0 then return one_owner(KEYS[1], size) and other_kind('1') or foreign() end
  if redis.call('EXISTS', KEYS[2]) == 1 then return 'R' end
elseif not rw_lock(KEYS[1], mode) then
  return foreign()
elseif mode == 'read' then
  if readers_left(KEYS[1], true) > 0 or redis.call('HLEN', KEYS[1]) > 1 then return redis.call('PTTL', KEYS[1]) end
  if redis.call('EXISTS', KEYS[2]) == 1 then return 'R' end
  redis.call('DEL', KEYS[1])
elseif redis.call('HEXISTS', KEYS[1], me) == 0 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'mode', 'write')
redis.call('HSET', KEYS[1], me, '1')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return false
