-- The heartbeat of a client that waits; also ends expired holds. ARGV: client, and how grants are published. Returns the server's
-- time.
local client = ARGV[1]
local told = told_by(ARGV, 2)
if not told then return redis.error_reply('ERR arguments of a refresh') end
local wrong = load('c' .. client)
if wrong then return wrong end
if s.waiting > 0 then
  if not get('c' .. client) then s.refreshed = s.refreshed + 1 end
  set('c' .. client, int(now + told.alive))
  dirty = true
end
settle(told)
if dirty then save() end
return now
