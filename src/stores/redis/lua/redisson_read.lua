-- Takes a read-write lock as Redisson's readers do: each has a lease of its own, in a key of its own, and the hash lives as long
-- as the longest. KEYS: the hash, the latch of the release, the reader's key. ARGV: the lease in ms, the owner.
-- Returns nil granted, R released before, or for how many ms it is held at most.
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
  local size = redis.call('HLEN', KEYS[1])
  if size > 0 then return one_owner(KEYS[1], size) and other_kind('1') or foreign() end
elseif not rw_lock(KEYS[1], mode) then
  return foreign()
elseif mode == 'write' then
  return redis.call('PTTL', KEYS[1])
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 and redis.call('EXISTS', KEYS[2]) == 1 then return 'R' end
if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end
redis.call('HSET', KEYS[1], ARGV[2], '1')
redis.call('SET', KEYS[3], '1', 'PX', ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[1])))
return false
