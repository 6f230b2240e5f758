-- Renews the leases of many holds with the same number of permits.
--
-- KEYS[i]      leases
-- ARGV[1]      how many permits each hold has
-- ARGV[2i]     hold id
-- ARGV[2i+1]   lease from now on, ms; the same with every renewal of the hold
--
-- Returns one number per key: 1 renewed; 0 gone: the hold is not there, or its lease was
-- over; -1 conflict: the key is no sorted set; -2 Redis refused for another reason.
-- Publishes nothing.
local time = redis.call('TIME')
local now = (time[1] * 1000000 + time[2]) / 1000
local count, open = tonumber(ARGV[1]), false
local answers = {}
for i = 1, #KEYS do
  local leases, id, lease = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]
  --!include permit_extend
  answers[i] = answer
end
return answers
