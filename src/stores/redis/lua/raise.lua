-- Raises the token of a hold, for a store that gives tokens together with others (spi::raise_request). KEYS: the name, and the
-- memory of the server's tokens (recall.lua). ARGV: id, token, version of the memory, and how grants are published.
-- Returns R raised, N and the largest token: not larger, L lost, F the memory is another or not whole.
--
-- A name that nobody uses is forgotten after its `life`, because later tokens are larger than the server's clock. A raised one may be
-- ahead of that clock, and is remembered until the clock has passed it.
local id, to, version, told = ARGV[1], tonumber(ARGV[2]), ARGV[3], told_by(ARGV, 4)
if not (#id == ID_size and to and told) then return redis.error_reply('ERR arguments of a raise') end

local memory = redis.pcall('HMGET', KEYS[2], 'version', 'whole', 'floor', 'highest')
if memory.err then return foreign() end
if memory[1] ~= version or memory[2] ~= '1' then return 'F' end

local wrong = load('h' .. id)
if wrong then return wrong end
settle(told)

local answer, life = 'L', 0
local mine = holder(id)
if mine then
  local largest = math.max(s.last, tonumber(memory[3]))
  if mine.counter == to then
    answer = 'R'
  elseif to <= largest then
    answer = 'N' .. int(largest)
  else
    answer = 'R'
    mine.counter, s.last = to, to
    set('h' .. id, write_holder(mine))
    dirty = true
    life = SHORTEST_LIFE + math.max(to - now, 0) / 1000000
  end
end
if dirty then save(life * 100000) end
if answer == 'R' and to > tonumber(memory[4]) then redis.call('HSET', KEYS[2], 'highest', int(to)) end
return answer
