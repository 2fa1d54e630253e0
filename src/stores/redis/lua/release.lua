-- Releases a hold, or leaves the queue. ARGV: id, client, and how grants are published.
-- Returns 0 released, 1 expired, 2 taken over. If another client releases a hold, its owner is notified.
local id, client = ARGV[1], ARGV[2]
local told = told_by(ARGV, 3)
if not (#id == ID_size and told) then return redis.error_reply('ERR arguments of a release') end

local wrong = load('h' .. id)
if wrong then return wrong end
settle(told)

local answer = '0'
local mine = holder(id)
local number = not mine and s.waiting > 0 and get('w' .. id)
if mine then
  local owner = client_of(mine.rest)
  if owner ~= client then
    redis.call('PUBLISH', told.channel .. owner, struct.pack(FORMAT('VERDICT ID c0'), 'L', id, key))
  end
  remove(id, mine)
  remember(id, '0')
  grant_next(told)
elseif number then
  leave(tonumber(number), read_waiter(get('q' .. number)))
  remember(id, '0')
  grant_next(told)
else
  local before, at = remembered(id)
  if before and before ~= '-' then
    answer = before
  else
    answer = strangers_answer()
    if before then
      local all = get('e')
      set('e', string.sub(all, 1, ENDED_at_answer - 2 + at) .. answer .. string.sub(all, ENDED_to_answer + at))
      dirty = true
    else  -- if its claim arrives later, it must not be granted
      remember(id, answer)
    end
  end
end
if dirty then save() end
return tonumber(answer)
