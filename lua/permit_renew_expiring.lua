-- Renews the leases of many holds with the same number of permits, of semaphores that expire after disuse.
--
-- KEYS[1] to KEYS[n]     leases
-- KEYS[n+1] to KEYS[2n]  permits of the same semaphores
-- ARGV[1]      how many permits each hold has
-- ARGV[2]      ms after their last use at which the semaphores expire
-- ARGV[2i+1]   hold id
-- ARGV[2i+2]   lease from now on, ms; the same with every renewal of the hold
--
-- Returns one number per hold: 1 renewed; 0 gone: the hold is not there, or its lease was
-- over; -1 conflict: the key is no sorted set; -2 Redis refused for another reason.
-- Publishes nothing.
local time = redis.call('TIME')
local now = (time[1] * 1000000 + time[2]) / 1000
local ms = math.floor(now)
local count, unused, open = tonumber(ARGV[1]), tonumber(ARGV[2]), false
local answers = {}
for i = 1, #KEYS / 2 do
  local leases, permits, id, lease = KEYS[i], KEYS[#KEYS / 2 + i], ARGV[2 * i + 1], ARGV[2 * i + 2]
  --!include permit_extend
  if answer == 1 then
    --!include permit_unused
  end
  answers[i] = answer
end
return answers
