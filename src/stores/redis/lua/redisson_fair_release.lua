-- Gives back a fair lock as Redisson does, or leaves its line, and tells who is next. KEYS: the hash, the line, its ends, the
-- latch that answers a repeat. ARGV: the owner, the command that publishes, for how many ms the latch is kept, for how many ms who
-- is next is waited for, the channel. Returns 1 released, nil somebody else holds it, -1 nobody does.
local key, line, ends, latch, me = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local before = redis.call('GET', latch)
if before then return before ~= '-2' and tonumber(before) end
local with = redis.call('EXISTS', key) == 1 and '-2' or '-1'
if redis.pcall('HEXISTS', key, me) == 1 then
  redis.call('DEL', key)
  with = '1'
elseif redis.call('ZREM', ends, me) == 1 then
  local owners, at = redis.call('LRANGE', line, 0, -1), 1
  while at <= #owners and owners[at] ~= me do at = at + 1 end
  bring_forward(ends, owners, at + 1, tonumber(ARGV[4]))
  redis.call('LREM', line, 0, me)
  with = '1'
end
redis.call('SET', latch, with, 'PX', ARGV[3])
local first = first_in_line(line, ends)
if first and redis.call('EXISTS', key) == 0 then redis.call(ARGV[2], ARGV[5] .. ':' .. first, '0') end
return with ~= '-2' and tonumber(with)
