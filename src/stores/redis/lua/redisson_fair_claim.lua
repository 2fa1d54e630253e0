-- Takes a lock as Redisson's fair lock does, or enters its line. KEYS: the hash, the latch of the release, the line, its ends.
-- ARGV: the lease in ms, the owner, for how many ms who is next is waited for, 1 to enter the line.
-- Returns nil granted, R released before, or after how many ms it is free, or the next in line waited for in vain.
local key, line, ends, me, wait = KEYS[1], KEYS[3], KEYS[4], ARGV[2], tonumber(ARGV[3])
local function take()
  redis.call('HSET', key, me, '1')
  redis.call('PEXPIRE', key, ARGV[1])
  return false
end
local size = redis.call('HLEN', key)
if size > 0 and redis.call('HEXISTS', key, me) == 0 and not one_owner(key, size) then
  return redis.call('HEXISTS', key, 'mode') == 1 and other_kind('2147483648') or foreign()
end
if redis.call('HEXISTS', key, me) == 1 then return take() end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'R' end
local first = first_in_line(line, ends)
if size == 0 and (not first or first == me) then
  redis.call('LPOP', line)
  redis.call('ZREM', ends, me)
  bring_forward(ends, redis.call('ZRANGE', ends, 0, -1), 1, wait)
  return take()
end
local left = size > 0 and redis.call('PTTL', key) or tonumber(redis.call('ZSCORE', ends, first)) - now
if ARGV[4] ~= '1' or redis.call('ZSCORE', ends, me) then return left end
local last = redis.call('LINDEX', line, -1)
local till = last and tonumber(redis.call('ZSCORE', ends, last)) or now + math.max(left, 0)
redis.call('ZADD', ends, string.format('%.0f', till + wait), me)
redis.call('RPUSH', line, me)
return left
