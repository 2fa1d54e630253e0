-- Takes a lock as Redisson does, but a claim that is repeated does not count twice. KEYS: the hash, the latch of the release.
-- ARGV: the lease in ms, the owner. Returns nil granted, R released before, or for how many ms it is held at most.
local size = redis.call('HLEN', KEYS[1])
if size == 0 then
  if redis.call('EXISTS', KEYS[2]) == 1 then return 'R' end
elseif redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  if one_owner(KEYS[1], size) then return redis.call('PTTL', KEYS[1]) end
  return redis.call('HEXISTS', KEYS[1], 'mode') == 1 and other_kind('2147483648') or foreign()
elseif redis.call('HEXISTS', KEYS[1], 'mode') == 1 then
  return other_kind('2147483648')
end
redis.call('HSET', KEYS[1], ARGV[2], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return false
