-- Gives back a lock, or a read-write lock, as Redisson does, and tells who waits. KEYS: the hash, the latch that answers
-- a repeat, the reader's key. ARGV: the owner, the command that publishes, for how many ms the latch is kept, the channels of locks
-- and of read-write locks. A release that finds nothing is remembered too, since its claim may arrive later.
-- Returns 1 released, 0 released and others still read, nil somebody else holds it, -1 nobody does.
local key, latch, me, publish = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local function answer(with)
  redis.call('SET', latch, with, 'PX', ARGV[3])
  return with
end
local before = redis.call('GET', latch)
if before then return before ~= '-2' and tonumber(before) end
local mode = redis.pcall('HGET', key, 'mode')
if type(mode) == 'table' then return answer(-2) and false end  -- another type
if mode == 'write' and redis.call('HDEL', key, me .. ':write') == 1 then
  if redis.call('HLEN', key) > 1 then
    redis.call('HSET', key, 'mode', 'read')
    return answer(1)
  end
  redis.call('DEL', key)
  redis.call(publish, ARGV[5], '1')
  return answer(1)
elseif mode and redis.call('HDEL', key, me) == 1 then
  redis.call('DEL', KEYS[3])
  if mode == 'write' then return answer(0) end
  local left = readers_left(key, false)
  if left > 0 then
    redis.call('PEXPIRE', key, left)
    return answer(0)
  end
  redis.call('DEL', key)
  redis.call(publish, ARGV[5], '0')
  return answer(1)
elseif not mode and redis.call('HEXISTS', key, me) == 1 then
  redis.call('DEL', key)
  redis.call(publish, ARGV[4], '0')
  return answer(1)
end
if redis.call('EXISTS', key) == 0 then return answer(-1) end
return answer(-2) and false
