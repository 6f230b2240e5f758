package mutants

// Mutants of the scripts that take and release several locks, and of their callers.
func init() {
	table = append(table, []mutant{
		{
			name: "one script takes several locks though another holds one",
			file: "lua/acquire_all.lua",
			old:  `if fields[1] ~= id and fields[3] ~= id then`,
			new:  `if false then`,
			in:   "internal/redisstore/luacall", by: "^TestAcquireAllBusy$",
		}, {
			name: "one script takes several locks without a look where the first is free",
			file: "lua/acquire_all.lua",
			old:  `redis.call('EXISTS', unpack(KEYS, 1, n))`,
			new:  `redis.call('EXISTS', KEYS[1])`,
			in:   "internal/redisstore/luacall", by: "^TestAcquireAllBusy$",
		}, {
			name: "one script overwrites what is no token at all",
			file: "lua/acquire_all.lua",
			old:  `fences[i] or redis.call('GET', token)`,
			new:  `fences[i]`,
			in:   "internal/redisstore/luacall", by: "^TestAcquireAllAmongStrangers$",
		}, {
			name: "several locks are taken as late as it likes",
			file: "lua/acquire_all.lua",
			old:  `if now > tonumber(ARGV[2]) then`,
			new:  `if false then`,
			in:   "internal/redisstore/luacall", by: "^TestAcquireAllLate$",
		}, {
			name: "what was taken of several locks stays when one may not be given an expiry",
			file: "lua/acquire_all.lua",
			old:  `redis.call('HDEL', KEYS[j], id)`,
			new:  `redis.call('EXISTS', KEYS[j])`,
			in:   "internal/redisstore/luacall", by: "^TestAcquireAllWithoutPermissionToExpire$",
		}, {
			name: "several locks are released, though other ids hold them",
			file: "lua/release_many.lua",
			old:  `elseif found == 0 then`,
			new:  `elseif found == 0 and redis.call('DEL', KEYS[i]) == 0 then`,
			in:   "internal/redisstore/luacall", by: "^TestReleaseAll$",
		}, {
			name: "the release of several locks wakes nobody",
			file: "lua/release_many.lua",
			old:  `receivers = redis.pcall(ARGV[1], ARGV[2 * i + 1], '0')`,
			new:  `receivers = 0`,
			in:   "internal/redisstore/luacall", by: "^TestReleaseAll$",
		}, {
			name: "a waiter for several locks keeps what an earlier copy of its request took",
			file: "internal/engine/lockset.go",
			old:  `w.renounce() // an earlier copy`,
			new:  `_ = sent // an earlier copy`,
			in:   "multilock", by: "^TestAWaiterGivesBackWhatAnEarlierCopyTook$",
		}, {
			name: "the loss of one of several locks leaves the others held",
			file: "internal/hold/level.go",
			old:  `if tied := l.tied(); tied != nil && cause`,
			new:  `if tied := l.tied(); tied != nil && l.hold == nil && cause`,
			in:   "multilock", by: "^TestLossOfOneMemberEndsAll$",
		}, {
			name: "a wait for several locks forgets that one was busy",
			file: "internal/engine/lockset.go",
			old:  "case sent.err == nil && sent.all.Status == store.Busy:\n\t\tsent.said",
			new:  "case sent.err == nil && sent.all.Status == store.TooLate:\n\t\tsent.said",
			in:   "multilock", by: "^TestAWaitThatEndsOnItsWayToAnotherLine$",
		},
	}...)
}
