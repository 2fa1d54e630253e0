-- A claim. ARGV: id; packed capacity, weight, lease, flags; instead-of or nothing; rest of the record; and how grants are told of.
-- Flags: 1 wait in line, 2 write even if nothing changes, for those who wait for replicas.
--
-- Answers  G and packed: counter lease left now
--          Q and packed: place, free in or -1, now; and of a holder counter, held for, and the rest. In line.
--          B and the same. Not in line.
--          R and in words: reason capacity. Reasons: lost, deadlock, kind, cancelled.
local id, instead, rest, told = ARGV[1], ARGV[3] == '' and NOTHING or ARGV[3], ARGV[4], told_by(ARGV, 5)
if not (#id == 16 and #ARGV[2] == 17 and #instead == 16 and #rest < 5000 and told) then
  return redis.error_reply('ERR arguments of a claim')
end
local capacity, weight, lease, flags = struct.unpack('>I4I4dB', ARGV[2])
local queue, must_write = flags % 2 == 1, flags >= 2

local wrong = load('h' .. id)
if wrong then return wrong end
settle(told)

local function done(answer)
  if dirty then save(lease) end
  return answer
end

local function granted(h)
  return 'G' .. struct.pack('>dddd', h.counter, h.lease, h.ends - now, now)
end

-- `own`: a hold of the asking party, which is not in its way.
local function standing(verdict, place, own)
  local free_in, who = -1, ''
  if s.held > 0 then
    local first = string.sub(s.first, 1, 16)
    if first == own then first = string.sub(s.first, 17, 32) end
    local h = first ~= '' and holder(first)
    if h then who = struct.pack('>dd', h.counter, math.max(now - h.since, 0)) .. string.sub(h.rest, 19) end
    free_in = math.max(s.next - now, 0)
  end
  return verdict .. struct.pack('>ddd', place, free_in, now) .. who
end

-- How many wait up to this number.
local function place_of(number)
  local span = number - s.head + 1
  if s.tail - s.head == s.waiting or span > 128 then return math.min(span, s.waiting) end
  local place = 0
  for n = s.head, number do
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
if not idle() and capacity ~= s.capacity then return done('Rkind ' .. int(s.capacity)) end

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
  set('q' .. int(at), id .. instead .. struct.pack('>I4dd', weight, lease, now) .. rest)
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
  if s.waiting == 0 then s.head, s.tail = 0, 0 end
  s.head = s.head - 1
  if s.waiting == 0 then s.tail = s.head + 1 end
  enqueue(s.head)
  return done(standing('Q', 1, instead))
end

if idle() then s.capacity = capacity end
if s.waiting == 0 and s.used + weight <= s.capacity then
  return done(granted(hold(id, weight, lease, now + lease, rest)))
end
if not queue then return done(standing('B', s.waiting + 1, NOTHING)) end
if s.waiting == 0 then s.head, s.tail = 0, 0 end
s.tail = s.tail + 1
enqueue(s.tail - 1)
return done(standing('Q', s.waiting, NOTHING))
