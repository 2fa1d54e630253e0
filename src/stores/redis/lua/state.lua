-- The state of one name, and its rules: those of src/base/lock_rules.hpp, inside the server. Every script that changes a name
-- starts with this. It reads first, collects changes in `changed`, and save() writes them at the very end, so that an error never
-- leaves half an effect.
--
-- One name is one hash, so that it moves between the nodes of a cluster as a whole. record_layout.hpp has the layouts, and says
-- what the names in capitals stand for.
--
--   .            HEAD;
--                ended ids, `ended` bytes, latest first: ENDED;
--                holders, `kept` bytes: if there is one, its ID, HOLDER and rest; if there are more, the ids of the oldest;
--                waiters in queue order while they are few, each with its LENGTH before it
--   h<id>        a holder, if there are several: HOLDER, rest
--   q<number>    a waiter, if there are many: WAITER, rest. What it replaces is blank if it replaces nothing
--   w<id>        the number of that waiter; numbers run from `front` to `back`, with gaps
--   c<client>    until when a waiting client counts as alive, once it has sent a heartbeat
--   k            there are several holders, and one of them, or one that was with them, may be kept while it is idle
--
--   rest         OWNER: r if the core renews it, else -; client; k if it is kept while it is idle. Then as text: pid, length of
--                host, host and label
--
-- Times are microseconds of the server's clock. `last` is the counter of the latest grant; it outlives the lock by `life`
-- seconds. `next_end` is not later than the first end of a holder. `armed` is when the key's expiry was last set, in seconds.
--
-- No lease can have more left than its length. If one seems to, the clock was set back, and a full lease starts: never less than
-- its holder counts on, however large the step. A name with several holders is searched for such leases every LOOK
-- microseconds, and `next_end` is never further away: if it seems to be, the clock was set back.
--
-- A typical name, with one holder and a few waiters, is one field, read once and written once, with packed numbers. Common cases
-- (fast_claim.lua, fast_release.lua) return before the functions here are created: the server does nothing else while a script
-- runs. Here, records in the head are treated as fields of their own; save() puts them where they belong.
local key = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local LISTED = 64       -- holders whose ids are in the head
local QUEUE_BYTES = 2000  -- of waiters in the head, at most
local SHORTEST_LIFE = 3600

local function int(n) return string.format('%.0f', n) end

local seen, changed, dirty = {}, {}, false
local s
local alone             -- the id of the holder that was in the head
local inside            -- the waiters were there too, or there were none

local function foreign()
  return redis.error_reply('FOREIGN the key holds data that is not a lock of mortise')
end

-- Fields as they will be once saved; false is none.
local function get(field)
  local value = changed[field]
  if value ~= nil then return value end
  value = seen[field]
  if value == nil then
    value = redis.call('HGET', key, field)
    seen[field] = value
  end
  return value
end
local function set(field, value) changed[field] = value end

-- Reads the head and some more fields. Returns an error if the key is not ours.
local function load(...)
  local values = redis.pcall('HMGET', key, '.', ...)
  if values.err then return foreign() end
  local head = values[1]
  for i, field in ipairs({...}) do seen[field] = values[i + 1] end
  inside = true
  if not head then
    if redis.call('EXISTS', key) == 1 then return foreign() end
    seen.e = false
    s = {form = FORM, capacity = 0, used = 0, held = 0, last = 0, next_end = 0, front = 0, back = 0, waiting = 0, refreshed = 0,
         armed = 0, life = 0, ended = 0, kept = 0, oldest = ''}
    return
  end
  if #head < HEAD_size then return foreign() end
  local HEAD_fields = struct.unpack(FORMAT('HEAD'), head)
  if form ~= FORM then return foreign() end
  local before = HEAD_size + ended  -- bytes before what is read next
  s = {form = form, capacity = capacity, used = used, held = held, last = last, next_end = next_end, front = front, back = back,
       waiting = waiting, refreshed = refreshed, armed = armed, life = life, ended = ended, kept = kept}
  seen.e = string.sub(head, HEAD_size + 1, before)
  s.oldest = string.sub(head, before + 1, before + (held == 1 and ID_size or kept))
  if held == 1 then
    alone = s.oldest
    seen['h' .. alone] = string.sub(head, ID_size + 1 + before, before + kept)
  end
  before = before + kept
  if waiting > 0 then
    inside = #head > before
    while before < #head do
      local size = struct.unpack(FORMAT('LENGTH'), head, before + 1)
      before = before + LENGTH_size
      local record = string.sub(head, before + 1, before + size)
      seen['q' .. int(s.front)] = record
      seen['w' .. string.sub(record, WAITER_at_id, WAITER_to_id)] = int(s.front)
      s.front = s.front + 1
      before = before + size
    end
    if inside then s.front, s.back = s.front - waiting, s.front end
  end
end

local function in_line(field)
  local kind = string.sub(field, 1, 1)
  return kind == 'q' or kind == 'w'
end

-- The waiters as they are kept in the head; empty if they are in fields of their own. They move there when they are many, and stay
-- until nobody waits.
local function line_in_head()
  if not inside or s.waiting == 0 then return '' end
  local parts, size = {}, 0
  for number = s.front, s.waiting <= IN_HEAD and s.back - 1 or s.front - 1 do
    local record = get('q' .. int(number))
    if record then
      parts[#parts + 1] = struct.pack(FORMAT('LENGTH'), math.min(#record, 65535)) .. record
      size = size + #record
    end
  end
  if #parts > 0 and size <= QUEUE_BYTES then
    for field in pairs(changed) do
      if in_line(field) then changed[field] = nil end
    end
    return table.concat(parts)
  end
  for field, value in pairs(seen) do
    if in_line(field) and value and changed[field] == nil then changed[field] = value end
  end
  return ''
end

-- The holders as they are kept in the head.
local function holders_in_head()
  if alone and (s.held ~= 1 or s.oldest ~= alone) then changed['h' .. alone] = get('h' .. alone) or nil end
  if s.held ~= 1 then return s.oldest end
  local field = 'h' .. s.oldest
  local record = get(field)
  if s.oldest == alone then changed[field] = nil else changed[field] = false end
  return s.oldest .. record
end

local function save(lease)
  local life = math.max(SHORTEST_LIFE, s.life, math.ceil((lease or 0) / 100000))  -- ten leases
  local seconds = math.floor(now / 1000000)
  local arm = life > s.life or seconds - s.armed > life / 16
  if arm then s.armed, s.life = seconds, life end
  if s.waiting == 0 then
    s.front, s.back = 0, 0
    if s.refreshed > 0 then
      s.refreshed = 0
      for field in pairs(changed) do  -- what this script was to write
        if string.sub(field, 1, 1) == 'c' then changed[field] = nil end
      end
      for _, field in ipairs(redis.call('HKEYS', key)) do
        if string.sub(field, 1, 1) == 'c' then changed[field] = false end
      end
    end
  end
  if s.held == 0 then s.next_end = 0 end
  local over, kept, line = get('e') or '', holders_in_head(), line_in_head()
  changed.e = nil
  s.ended, s.kept = #over, #kept
  local written = {'.', struct.pack(FORMAT('HEAD'), s.HEAD_fields) .. over .. kept .. line}
  local removed = {}
  for field, value in pairs(changed) do
    if value then
      written[#written + 1] = field
      written[#written + 1] = value
    else
      removed[#removed + 1] = field
    end
  end
  for from = 1, #removed, 1000 do  -- unpack takes no more than some thousands
    redis.call('HDEL', key, unpack(removed, from, math.min(from + 999, #removed)))
  end
  for from = 1, #written, 1000 do
    redis.call('HSET', key, unpack(written, from, math.min(from + 999, #written)))
  end
  if arm then redis.call('EXPIRE', key, life + math.ceil(life / 8)) end
end

local function read_holder(record)
  local HOLDER_fields = struct.unpack(FORMAT('HOLDER'), record)
  return {ends = ends, counter = counter, weight = weight, since = since, lease = lease,
          rest = string.sub(record, HOLDER_size + 1)}
end
local function write_holder(h) return struct.pack(FORMAT('HOLDER'), h.HOLDER_fields) .. h.rest end
local function read_waiter(record)
  local WAITER_fields = struct.unpack(FORMAT('WAITER'), record)
  return {id = id, instead = instead, weight = weight, lease = lease, since = since,
          rest = string.sub(record, WAITER_size + 1)}
end
local function write_waiter(w) return struct.pack(FORMAT('WAITER'), w.WAITER_fields) .. w.rest end
local function client_of(rest) return string.sub(rest, OWNER_at_client, OWNER_to_client) end
local function may_be_idle(rest) return string.sub(rest, OWNER_at_kept, OWNER_to_kept) == 'k' end
local function renewed(rest) return string.sub(rest, OWNER_at_renewed, OWNER_to_renewed) == 'r' end

local function holder(id)
  local record = get('h' .. id)
  return record and read_holder(record)
end

-- All holders, as {id, holder}; the field list is used while it is complete.
local function holders()
  local all = {}
  if #s.oldest == ID_size * s.held then
    for at = 1, #s.oldest, ID_size do
      local id = string.sub(s.oldest, at, ID_size - 1 + at)
      all[#all + 1] = {id, holder(id)}
    end
    return all
  end
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 1) == 'h' then
      local id = string.sub(fields[i], 2)
      local record = changed[fields[i]]
      if record == nil then record = fields[i + 1] end
      if record then all[#all + 1] = {id, read_holder(record)} end
    end
  end
  for field, record in pairs(changed) do
    if record and string.sub(field, 1, 1) == 'h' and not seen[field] then
      all[#all + 1] = {string.sub(field, 2), read_holder(record)}
    end
  end
  table.sort(all, function(a, b) return a[2].counter < b[2].counter end)
  return all
end

local function list_holders(all)
  local ids = {}
  for i = 1, math.min(#all, LISTED) do ids[i] = all[i][1] end
  s.oldest = table.concat(ids)
end

local function hold(id, weight, lease, ends, rest)
  s.last = math.max(s.last + 1, now)
  local h = {ends = ends, counter = s.last, weight = weight, since = now, lease = lease, rest = rest}
  set('h' .. id, write_holder(h))
  if #s.oldest == ID_size * s.held and s.held < LISTED then s.oldest = s.oldest .. id end
  s.used, s.held = s.used + weight, s.held + 1
  if s.held > 1 and (may_be_idle(rest) or s.held == 2 and may_be_idle(holder(string.sub(s.oldest, 1, ID_size)).rest))
      and not get('k') then
    set('k', '1')
  end
  if s.next_end == 0 or ends < s.next_end then s.next_end = ends end
  dirty = true
  return h
end

local function remove(id, h)
  set('h' .. id, false)
  s.used, s.held = s.used - h.weight, s.held - 1
  local at = 1
  while at < #s.oldest and string.sub(s.oldest, at, ID_size - 1 + at) ~= id do at = at + ID_size end
  s.oldest = string.sub(s.oldest, 1, at - 1) .. string.sub(s.oldest, at + ID_size)
  if s.held == 0 then
    s.next_end = 0
  elseif s.oldest == '' then
    list_holders(holders())
  end
  if s.held == 1 and get('k') then set('k', false) end
  dirty = true
end

local function remember(id, answer)
  set('e', struct.pack(FORMAT('ENDED'), id, answer) .. string.sub(get('e') or '', 1, (REMEMBERED - 1) * ENDED_size))
  dirty = true
end
-- The answer that its release got, and where it is; '-' if it was never released; nothing if the id is not remembered.
local function remembered(id)
  local all = get('e')
  if not all then return end
  local short = string.sub(id, 1, ENDED_to_id)
  local at = string.find(all, short, 1, true)
  while at and at % ENDED_size ~= 1 do at = string.find(all, short, at + 1, true) end
  if at then return string.sub(all, ENDED_at_answer - 1 + at, ENDED_to_answer - 1 + at), at end
end

local function leave(number, w)
  set('q' .. int(number), false)
  set('w' .. w.id, false)
  s.waiting = s.waiting - 1
  dirty = true
end

-- The first waiter, and its number.
local function first_waiting()
  while s.waiting > 0 do
    local record = get('q' .. int(s.front))
    if record then return read_waiter(record), s.front end
    s.front = s.front + 1
  end
end

local function fits(weight, instead)
  local old = instead ~= NOTHING and holder(instead)
  return s.used - (old and old.weight or 0) + weight <= s.capacity
end

local function alive(w, number, life)
  if w.since > now then  -- the clock was set back
    w.since = now
    set('q' .. int(number), write_waiter(w))
    dirty = true
  end
  if now < w.since + life then return true end
  local client = 'c' .. client_of(w.rest)
  local till = tonumber(get(client) or 0)
  if till > now + life then  -- it was
    till = now + life
    set(client, int(till))
    dirty = true
  end
  return till > now
end

-- How grants are published, from two arguments: the prefix of the inboxes, and TERMS.
local function told_by(arguments, from)
  local channel, terms = arguments[from], arguments[from + 1]
  if not (terms and #terms == TERMS_size) then return nil end
  local TERMS_fields = struct.unpack(FORMAT('TERMS'), terms)
  return {channel = channel, alive = alive, grace = grace, counted = counted == 1}
end

-- Grants to waiters in order while there is room, and publishes it to them.
local function grant_next(told)
  while true do
    local w, number = first_waiting()
    if not w then return end
    local old = w.instead ~= NOTHING and holder(w.instead)
    local channel = told.channel .. client_of(w.rest)
    if w.instead ~= NOTHING and not old then  -- what it was to replace is gone
      leave(number, w)
      remember(w.id, '-')
      redis.call('PUBLISH', channel, struct.pack(FORMAT('VERDICT ID c0'), 'L', w.id, key))
    elseif not alive(w, number, told.alive) then
      leave(number, w)
    elseif not fits(w.weight, w.instead) then
      return
    else
      -- What takes the place of a hold lasts as long as that would have: its owner may not hear of this, and count on the old.
      local left = not old and renewed(w.rest) and math.min(w.lease, told.grace) or w.lease
      local counter = math.max(s.last + 1, now)
      local reached = redis.call('PUBLISH', channel,
        struct.pack(FORMAT('VERDICT ID GRANT c0'), 'G', w.id, GRANT_with{lease = w.lease}, key))
      leave(number, w)
      if reached > 0 or not told.counted then
        if old then
          remember(w.instead, '0')
          remove(w.instead, old)
        end
        hold(w.id, w.weight, w.lease, now + left, w.rest)
      end
    end
  end
end

-- Whether a holder may have expired, or the clock was set back.
local function due()
  if s.held == 0 then return false end
  if now >= s.next_end then return true end
  if s.held > 1 then return s.next_end - now > LOOK end
  local h = holder(s.oldest)
  return h.ends - now > h.lease
end

-- Ends expired holds and grants to waiters. Every verb does this first.
local function settle(told)
  if due() then
    local all = holders()
    local left = {}
    s.next_end = 0
    for _, one in ipairs(all) do
      local id, h = one[1], one[2]
      if h.ends <= now then
        remember(id, '-')
        set('h' .. id, false)
        s.used, s.held = s.used - h.weight, s.held - 1
      else
        if h.ends - now > h.lease then
          h.ends = now + h.lease
          set('h' .. id, write_holder(h))
        end
        left[#left + 1] = one
        if s.next_end == 0 or h.ends < s.next_end then s.next_end = h.ends end
      end
    end
    list_holders(left)
    if s.held > 1 then s.next_end = math.min(s.next_end, now + LOOK) elseif get('k') then set('k', false) end
    dirty = true
  end
  if s.waiting > 0 then grant_next(told) end
end

local function idle() return s.held == 0 and s.waiting == 0 end

-- The answer to the release of an unknown id: nobody holds the name, or somebody else does.
local function strangers_answer() return s.held > 0 and '2' or '1' end
