-- Breaks the hold with that counter. ARGV: counter, and how grants are published. Returns the rest of its record, or nothing.
local counter = tonumber(ARGV[1])
local told = told_by(ARGV, 2)
if not (counter and told) then return redis.error_reply('ERR arguments of a break') end
local wrong = load()
if wrong then return wrong end
settle(told)
local found
for _, one in ipairs(s.held > 0 and holders() or {}) do
  if one[2].counter == counter then found = one end
end
if found then
  redis.call('PUBLISH', told.channel .. client_of(found[2].rest),
    struct.pack(FORMAT('VERDICT ID c0'), 'L', found[1], key))
  remove(found[1], found[2])
  remember(found[1], '-')
  s.last = s.last + 1
  grant_next(told)
end
if dirty then save() end
return found and found[2].rest
