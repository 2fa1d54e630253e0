-- The line of a fair lock: a list of owners, and until when each is waited for (ms since 1970, on the server's clock).
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- Takes those out of the front who were waited for long enough; those without an end were never in line.
local function first_in_line(line, ends)
  while true do
    local first = redis.call('LINDEX', line, 0)
    if not first then return nil end
    local till = redis.call('ZSCORE', ends, first)
    if till and tonumber(till) > now then return first end
    redis.call('ZREM', ends, first)
    redis.call('LPOP', line)
  end
end

-- Those behind are waited for from an earlier time on.
local function bring_forward(ends, owners, from, by)
  for i = from, #owners do redis.call('ZINCRBY', ends, -by, owners[i]) end
end
