-- A lock of Redisson: a hash of owner -> count, and `mode` if it is a read-write lock. What else is there is left alone.
local owner = '^%x+%-%x+%-%x+%-%x+%-%x+:%d+'
local function foreign() return redis.error_reply('FOREIGN the key holds no lock of Redisson') end
local function other_kind(capacity) return redis.error_reply('KIND ' .. capacity) end

-- Of a hash that is no read-write lock: whether it is a lock.
local function one_owner(key, size)
  return size == 1 and redis.call('HKEYS', key)[1]:find(owner .. '$') ~= nil
end

-- Of a hash with a mode: whether it is a read-write lock.
local function rw_lock(key, mode)
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if field ~= 'mode' and not field:find(owner .. '$') and not field:find(owner .. ':write$') then return false end
  end
  return mode == 'read' or mode == 'write'
end

-- {name}, as Redisson writes it: one slot of a cluster for all keys of a name.
local function tagged(key) return key:find('{', 1, true) and key or '{' .. key .. '}' end
local function reader_key(key, field, i) return tagged(key) .. ':' .. field .. ':rwlock_timeout:' .. i end

-- For how many ms more somebody reads whose lease has not run out; those whose lease has are taken out if `out`. Nobody has entered
-- more than `most` times: a count that says so must not keep the server busy.
local most = 10000
local function readers_left(key, out)
  local longest = 0
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if field:find(owner .. '$') then
      local mine = 0
      local count = tonumber(redis.call('HGET', key, field)) or 0
      for i = count, math.max(1, count - most + 1), -1 do
        mine = math.max(mine, redis.call('PTTL', reader_key(key, field, i)))
      end
      if mine <= 0 and out then redis.call('HDEL', key, field) end
      longest = math.max(longest, mine)
    end
  end
  return longest
end
