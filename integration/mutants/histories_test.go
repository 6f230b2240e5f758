package mutants

// briefly are the arguments of a short history with few kinds of faults: those that can expose a bug, as often as
// possible. The seed decides which client they hit, but not the scheduling.
func briefly(args ...string) []string { return append([]string{"-history.seed=1"}, args...) }

var (
	forgetful = "^TestHistoryWhereRedisForgets$"
	faulty    = "^TestHistoryUnderFaults$"

	losses = briefly("-history.short=lock deleted,all keys flushed")
	late   = briefly("-history.linger", "-history.faults=12", "-history.short=release duplicated later")

	postgresForgetful = "^TestHistoryWherePostgreSQLForgets$"
	postgresFaulty    = "^TestHistoryOnPostgreSQL$"

	postgresLosses = briefly("-history.short=row set free,all rows deleted")
	postgresLate   = briefly("-history.linger", "-history.faults=30",
		"-history.short=requests late,answers lost with their connections")
)

// histories are mutants that the histories must catch: only their general checks may reveal the bug, not a test that
// was written for it.
var histories = []mutant{
	{
		name: "history: release does not look whose hold it is",
		file: "lua/release.lua",
		old:  `redis.call('HDEL', KEYS[1], ARGV[1]) == 0`,
		new:  `redis.call('DEL', KEYS[1]) == 0`,
		in:   "integration/history", by: faulty, args: late, says: "overlaps: |nobody took it away",
	}, {
		name: "history: renewal revives what was lost",
		file: "lua/renew.lua",
		old:  `    answer = 0`,
		new:  `    redis.call('DEL', lock) redis.call('HSET', lock, id, 1) redis.call('PEXPIRE', lock, ttl)`,
		in:   "integration/history", by: forgetful, args: losses, says: "overlaps: |losses told too late: ",
	}, {
		name: "history: a hold that is gone is believed in until its validity ends",
		file: "watchdog/*.go",
		old:  `	case gone:`,
		new:  `	case gone && now < 0:`,
		in:   "integration/history", by: forgetful, args: losses, says: "overlaps: |losses told too late: ",
	}, {
		name: "history: a token is the last one's successor, whatever the clock says",
		file: "lua/fragment_fence_mint.lua",
		old:  `if ahead then`,
		new:  `if true then`,
		in:   "integration/history", by: forgetful, args: losses, says: "tokens out of order(: | +[1-9])",
	}, {
		name: "history of PostgreSQL: release does not look whose hold it is",
		file: "pglock/internal/pgstore/sql/release.sql",
		old:  `FOR NO KEY UPDATE) = $2::text`,
		new:  `FOR NO KEY UPDATE) <> '' AND $2::text <> ''`,
		in:   "integration/history", by: postgresFaulty, args: postgresLate, says: "overlaps: |nobody took it away",
	}, {
		name: "history of PostgreSQL: a token is the last one's successor, whatever the clock says",
		file: "pglock/internal/pgstore/sql/acquire.sql",
		old:  `fence = greatest(l.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`,
		new:  `fence = l.fence + 1`,
		in:   "integration/history", by: postgresForgetful, args: postgresLosses, says: "tokens out of order(: | +[1-9])",
	},
}
