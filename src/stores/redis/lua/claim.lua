-- A claim. ARGV: id; CLAIM; the id that it replaces, or nothing; rest of the record; and how grants are published.
-- Flags: 1 queue, 2 write even if nothing changes, for claims that wait for replicas.
--
-- Returns  G GRANT: granted
--          Q STANDING, and if somebody holds it BLOCKER and the text of its rest: queued
--          B and the same: busy, and not queued; or K, if its holder may keep it idle
--          R and as text, reason and capacity: refused. Reasons: lost, deadlock, kind, cancelled
local id, instead, rest, told = ARGV[1], ARGV[3] == '' and NOTHING or ARGV[3], ARGV[4], told_by(ARGV, 5)
if not (#id == ID_size and #ARGV[2] == CLAIM_size and #instead == ID_size and #rest < 5000 and told) then
  return redis.error_reply('ERR arguments of a claim')
end
local CLAIM_fields = struct.unpack(FORMAT('CLAIM'), ARGV[2])
local queue, must_write = flags % 2 == 1, flags >= 2

local wrong = load('h' .. id)
if wrong then return wrong end
settle(told)

local function done(answer)
  if dirty then save(lease) end
  return answer
end

local function granted(h)
  return struct.pack(FORMAT('VERDICT GRANT'), 'G', GRANT_with{counter = h.counter, lease = h.lease, left = h.ends - now})
end

-- Whether this hold may be idle; then its client is told that somebody asks.
local function tell_keeper(id, h)
  if not may_be_idle(h.rest) then return false end
  redis.pcall('PUBLISH', told.channel .. client_of(h.rest), struct.pack(FORMAT('VERDICT ID c0'), 'W', id, key))
  return true
end

-- Of the only hold that is in the way, or of all of them. Whoever comes later finds that all have been told.
local function tell_keepers(first, h, place)
  if s.held == 1 then return h and tell_keeper(first, h) end
  local any = false
  if place == 1 and get('k') then
    for _, one in ipairs(holders()) do any = tell_keeper(one[1], one[2]) or any end
  end
  return any
end

-- `own`: a hold of the same claim, which does not block it.
local function standing(verdict, place, own)
  local free_in, blocker = -1, ''
  if s.held > 0 then
    local first = string.sub(s.oldest, 1, ID_size)
    if first == own then first = string.sub(s.oldest, ID_size + 1, 2 * ID_size) end
    local h = first ~= '' and holder(first)
    if tell_keepers(first, h, place) and verdict == 'B' then verdict = 'K' end
    if h then
      blocker = struct.pack(FORMAT('BLOCKER c0'), BLOCKER_with{counter = h.counter, held_for = math.max(now - h.since, 0)},
        string.sub(h.rest, OWNER_size + 1))
    end
    free_in = math.max(s.next_end - now, 0)
  end
  return struct.pack(FORMAT('VERDICT STANDING c0'), verdict, STANDING_fields, blocker)
end

-- The number of waiters up to this one.
local function place_of(number)
  local span = number - s.front + 1
  if s.back - s.front == s.waiting or span > 128 then return math.min(span, s.waiting) end
  local place = 0
  for n = s.front, number do
    if get('q' .. int(n)) then place = place + 1 end
  end
  return place
end

local mine = holder(id)
if mine then
  if must_write then set('h' .. id, write_holder(mine)); dirty = true end
  return done(granted(mine))
end
if remembered(id) then return done('Rcancelled 0') end
if not idle() and claimed ~= s.capacity then return done('Rkind ' .. int(s.capacity)) end

local number = s.waiting > 0 and get('w' .. id)
if number then
  number = tonumber(number)
  if queue or instead == NOTHING then return done(standing('Q', place_of(number), NOTHING)) end
  leave(number, read_waiter(get('q' .. int(number))))
  remember(id, '0')
  grant_next(told)
  return done(standing('B', 1, instead))
end

local function enqueue(at)
  set('q' .. int(at), struct.pack(FORMAT('WAITER c0'), WAITER_with{since = now}, rest))
  set('w' .. id, int(at))
  s.waiting = s.waiting + 1
  dirty = true
end

if instead ~= NOTHING then
  local old = holder(instead)
  if not old then return done('Rlost 0') end
  if fits(weight, instead) then
    remember(instead, '0')
    remove(instead, old)
    local h = hold(id, weight, lease, now + lease, rest)
    grant_next(told)
    return done(granted(h))
  end
  local first = first_waiting()
  if first and first.instead ~= NOTHING then return done('Rdeadlock 0') end
  if not queue then return done(standing('B', 1, instead)) end
  if s.waiting == 0 then s.front, s.back = 0, 0 end
  s.front = s.front - 1
  if s.waiting == 0 then s.back = s.front + 1 end
  enqueue(s.front)
  return done(standing('Q', 1, instead))
end

if idle() then s.capacity = claimed end
if s.waiting == 0 and s.used + weight <= s.capacity then
  return done(granted(hold(id, weight, lease, now + lease, rest)))
end
if not queue then return done(standing('B', s.waiting + 1, NOTHING)) end
if s.waiting == 0 then s.front, s.back = 0, 0 end
s.back = s.back + 1
enqueue(s.back - 1)
return done(standing('Q', s.waiting, NOTHING))
