-- What the server remembers of its tokens (spi::token_memory): a hash of version, whole, floor and highest, which never expires.
-- If there is none, the server has forgotten everything, or was never asked. KEYS: the memory. ARGV: a new version, in case one is
-- needed; what to do: none, vouch or restore; for restore, of which version, and the floor. Returns the four fields.
local memory = redis.pcall('HMGET', KEYS[1], 'version', 'whole', 'floor', 'highest')
if memory.err then return redis.error_reply('FOREIGN the key holds data that is not of mortise') end
local version, whole, floor, highest = memory[1], memory[2] or '0', memory[3] or '0', memory[4] or '0'
local fresh, what = ARGV[1], ARGV[2]
local changes = not version
if not version or what == 'vouch' and whole == '1' then
  version, changes = fresh, true
end
if what == 'restore' and version == ARGV[3] and whole ~= '1' then
  whole, floor, changes = '1', ARGV[4], true
  if tonumber(floor) > tonumber(highest) then highest = floor end
end
if changes then redis.call('HSET', KEYS[1], 'version', version, 'whole', whole, 'floor', floor, 'highest', highest) end
return version .. ' ' .. whole .. ' ' .. floor .. ' ' .. highest
