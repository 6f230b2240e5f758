package mutants

// Of the scripts that take and release several locks, and of who asks for them.
func init() {
	table = append(table, []mutant{
		{
			name: "one script takes several locks though another holds one",
			file: "lua/acquire_all.lua",
			old:  `if fields[1] ~= id and fields[3] ~= id then`,
			new:  `if false then`,
			in:   "lua", by: "^TestAcquireAllBusy$",
		}, {
			name: "several locks are taken as late as it likes",
			file: "lua/acquire_all.lua",
			old:  `if now > tonumber(ARGV[2]) then`,
			new:  `if false then`,
			in:   "lua", by: "^TestAcquireAllLate$",
		}, {
			name: "what was taken of several locks stays when one may not be given an expiry",
			file: "lua/acquire_all.lua",
			old:  `redis.call('DEL', KEYS[2 * j - 1])`,
			new:  `redis.call('EXISTS', KEYS[2 * j - 1])`,
			in:   "lua", by: "^TestAcquireAllWithoutPermissionToExpire$",
		}, {
			name: "several locks are released whoever holds them",
			file: "lua/release_all.lua",
			old:  `held[i] = redis.call('HEXISTS', KEYS[i], ARGV[2 * i])`,
			new:  `held[i] = redis.call('EXISTS', KEYS[i])`,
			in:   "lua", by: "^TestReleaseAll$",
		}, {
			name: "the release of several locks wakes nobody",
			file: "lua/release_all.lua",
			old:  `status, receivers = 3, redis.pcall(ARGV[1], ARGV[2 * i + 1], '0')`,
			new:  `status, receivers = 3, 0`,
			in:   "lua", by: "^TestReleaseAll$",
		}, {
			name: "who waits for one of several locks keeps what an earlier copy of its request took",
			file: "internal/engine/all.go",
			old:  `l.renounce() // an earlier copy`,
			new:  `l.doubt.since = sent.start // an earlier copy`,
			in:   "multilock", by: "^TestValidityOfWhatAnEarlierCopyTook$",
		}, {
			name: "the loss of one of several locks leaves the others held",
			file: "internal/engine/level.go",
			old:  `if fn := l.tied.Load(); fn != nil &&`,
			new:  `if fn := l.tied.Load(); fn != nil && l.outer == nil && l.outer != nil &&`,
			in:   "multilock", by: "^TestLossOfOneMemberEndsAll$",
		}, {
			name: "a wait for several locks forgets that one was busy when it moves to another",
			file: "internal/engine/all.go",
			old:  `g.at, g.busy = other.at, true`,
			new:  `g.at, g.busy = other.at, false`,
			in:   "multilock", by: "^TestAWaitThatEndsOnItsWayToAnotherLine$",
		},
	}...)
}
