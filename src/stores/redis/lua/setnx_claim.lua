-- Takes the key of a lock, as SET NX PX does. KEYS: the key, and where a release is marked. ARGV: the value, the lease in ms.
-- Returns G granted, R released before, or B and for how many ms it is held at most (-1: until somebody deletes it).
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then  -- this claim, asked for again
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 'G'
end
if held then return 'B' .. string.format('%d', redis.call('PTTL', KEYS[1])) end
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 1 then return 'R' end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 'G'
