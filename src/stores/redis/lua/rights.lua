-- Which of these calls the user may not make; makes none of them. ARGV: for each the number of its words, and the words.
-- Answers their places.
local denied, at, place = {}, 1, 0
while redis.acl_check_cmd and at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  local known, allowed = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, last))
  if not (known and allowed) then denied[#denied + 1] = place end
  at, place = last + 1, place + 1
end
return denied
