-- Which of these commands the user may not run; runs none of them. ARGV: for each, the number of its words, and the words.
-- Returns the indexes of the denied ones.
local denied, at, place = {}, 1, 0
while redis.acl_check_cmd and at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  local known, allowed = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, last))
  if not (known and allowed) then denied[#denied + 1] = place end
  at, place = last + 1, place + 1
end
return denied
