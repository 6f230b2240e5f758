package mutants

const (
	pgstore    = "pglock/internal/pgstore"
	statements = pgstore + "/sql/"
	underLock  = "FOR UPDATE SKIP LOCKED"
	weaker     = "FOR NO KEY UPDATE SKIP LOCKED"
	notAfter   = "AND (extract(epoch FROM clock_timestamp()) * 1000000)::bigint <= $4::bigint"
	inTime     = "AND clock_timestamp() <= to_timestamp($4::bigint / 1000000.0)"
	unread     = "AND $4::bigint IS NOT NULL"
	minted     = "greatest(l.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
	byClock    = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
)

// Mutants of the lock on PostgreSQL.
func init() {
	table = append(table, []mutant{
		{
			name: "a refusal settles what an earlier request may have taken",
			file: "internal/request/attempts.go",
			old:  "if a.lost && sent.Since > a.last+span {", new: "if a.lost {",
			in: "internal/request", by: "^TestARefusalSettlesNothingBeforeIt$",
		}, {
			name: "PostgreSQL: a lock is taken without locking its row first",
			file: statements + "acquire.sql", old: underLock, new: "",
			in: pgstore, by: "^TestALockedRowIsBusy$",
		}, {
			name: "PostgreSQL: several locks are taken without locking their rows first",
			file: statements + "acquire_all.sql", old: underLock, new: "",
			in: pgstore, by: "^TestALockedRowIsBusy$",
		}, {
			name: "PostgreSQL: a lock is taken as late as it likes",
			file: statements + "acquire.sql", old: inTime, new: unread,
			in: pgstore, by: "^TestNothingIsTakenTooLate$",
		}, {
			name: "PostgreSQL: a lock is taken by the time at which its transaction began",
			file: statements + "acquire.sql",
			old:  inTime,
			new:  "AND now() <= to_timestamp($4::bigint / 1000000.0)",
			in:   pgstore, by: "^TestNothingIsTakenTooLate$",
		}, {
			name: "PostgreSQL: several locks are taken as late as it likes",
			file: statements + "acquire_all.sql", old: notAfter, new: unread,
			in: pgstore, by: "^TestNothingIsTakenTooLate$",
		}, {
			name: "PostgreSQL: a hold is adopted as late as it likes",
			file: statements + "adopt.sql", old: notAfter, new: unread,
			in: pgstore, by: "^TestNothingIsTakenTooLate$",
		}, {
			name: "PostgreSQL: a lock is taken under a transaction that relies on it",
			file: statements + "acquire.sql", old: underLock, new: weaker,
			in: "pglock", by: "^TestTheNextComesAfterTheCommit$/^directly,_unlock,_another_process$",
		}, {
			name: "PostgreSQL: a lock is taken unseen by a transaction with an older snapshot",
			file: statements + "acquire.sql", old: underLock, new: weaker,
			in: "pglock", by: "^TestTxSeesWhatItsTransactionSees$/^another_one_has_the_lock,_REPEATABLE_READ$",
		}, {
			name: "PostgreSQL: several locks are taken under a transaction that relies on one",
			file: statements + "acquire_all.sql", old: underLock, new: weaker,
			in: pgstore, by: "^TestWhatATransactionReliesOn$",
		}, {
			name: "PostgreSQL: a hold is exported under a transaction that relies on it",
			file: statements + "adopt.sql", old: "FOR UPDATE", new: "FOR NO KEY UPDATE",
			in: "pglock", by: "^TestExportWaitsForTheCommit$",
		}, {
			name: "PostgreSQL: Tx does not keep the row",
			file: statements + "tx.sql", old: "FOR KEY SHARE", new: "",
			in: "pglock", by: "^TestTheNextComesAfterTheCommit$/^directly,_unlock,_another_process$",
		}, {
			name: "PostgreSQL: Tx does not ask whose the lock is",
			file: statements + "tx.sql", old: "id = $2::text", new: "$2::text IS NOT NULL",
			in: "pglock", by: "^TestAStaleHolderCannotCommit$",
		}, {
			name: "PostgreSQL: a hold that a transaction relies on passes in memory",
			file: "internal/engine/pin.go", old: "!l.Hold().MarkSingle()", new: "!l.Hold().Live()",
			in: "pglock", by: "^TestTheNextComesAfterTheCommit$/^directly,_unlock,_the_same_process$",
		}, {
			name: "PostgreSQL: a hold that a transaction finds gone lives on",
			file: "internal/engine/pin.go", old: "g.lose(hold.Gone, nil)", new: "_ = hold.Gone",
			in: "pglock", by: "^TestAStaleHolderCannotCommit$",
		}, {
			name: "PostgreSQL: a transaction that sees nothing ends the hold",
			file: pgstore + "/tx.go", old: "h.ID == id", new: "h.ID == \"\"",
			in: "pglock", by: "^TestTransactionsThatDoNotSuit$",
		}, {
			name: "PostgreSQL: a release overtakes the acquisition",
			file: statements + "release.sql",
			old:  "(SELECT id FROM {{table}} WHERE name = $1::text FOR NO KEY UPDATE) = $2::text",
			new:  "id = $2::text",
			in:   pgstore, by: "^TestAReleaseWaitsForAnAcquisition$",
		}, {
			name: "PostgreSQL: a release of several locks overtakes the acquisition",
			file: statements + "release_all.sql",
			old:  "WHERE name = ANY ($1::text[]) ORDER BY name FOR",
			new:  "WHERE name = ANY ($1::text[]) AND id = ANY ($2::text[]) ORDER BY name FOR",
			in:   pgstore, by: "^TestAReleaseWaitsForAnAcquisition$",
		}, {
			name: "PostgreSQL: a release frees the lock, though another id holds it",
			file: statements + "release.sql", old: "UPDATE) = $2::text", new: "UPDATE) <> '' AND $2::text <> ''",
			in: pgstore, by: "^TestAReleaseNamesItsHold$",
		}, {
			name: "PostgreSQL: a release of several locks frees them, though other ids hold them",
			file: statements + "release_all.sql", old: "AND locked.id = p.id", new: "",
			in: pgstore, by: "^TestAReleaseNamesItsHold$",
		}, {
			name: "PostgreSQL: the id of a hold is indexed, so that no version of a row stays in its page",
			file: statements + "migration_1.sql",
			old:  "id         text COLLATE \"C\",",
			new:  "id         text COLLATE \"C\" UNIQUE,",
			in:   pgstore, by: "^TestAHotNameKeepsTheTableSmall$",
		}, {
			name: "PostgreSQL: a row that is locked holds up a batch of releases",
			file: pgstore + "/statements.go", old: "\"SKIP LOCKED\"),", new: "\"\"),",
			in: pgstore, by: "^TestOneLockedRowHoldsNobodyUp$",
		}, {
			name: "PostgreSQL: a release that could not look says that the hold is gone",
			file: pgstore + "/release.go", old: "case !found[i].looked:", new: "case found == nil:",
			in: pgstore, by: "^TestALockedRowIsNotGone$",
		}, {
			name: "PostgreSQL: an id is not released again although a copy may come",
			file: pgstore + "/release.go",
			old:  "one.Again = serverclock.Again(one.Late, micros)",
			new:  "one.Again = serverclock.Again(0, micros)",
			in:   pgstore, by: "^TestACopyAfterTheRelease$",
		}, {
			name: "PostgreSQL: a row that is locked holds up a batch of renewals",
			file: statements + "renew.sql", old: weaker, new: "FOR NO KEY UPDATE",
			in: pgstore, by: "^TestOneLockedRowHoldsNobodyUp$",
		}, {
			name: "PostgreSQL: a hold whose row is locked is gone",
			file: pgstore + "/renew.go", old: "case holds[i]:", new: "case holds == nil:",
			in: pgstore, by: "^TestALockedRowIsNotGone$",
		}, {
			name: "PostgreSQL: a renewal revives a lease that is over",
			file: statements + "renew.sql",
			old:  "WHERE l.name = locked.name AND l.id = due.id AND (l.until > clock_timestamp()",
			new:  "WHERE l.name = locked.name AND l.id = due.id AND (true",
			in:   pgstore, by: "^TestARenewalRevivesNothing$",
		}, {
			name: "PostgreSQL: a renewal prolongs whatever stands",
			file: statements + "renew.sql",
			old:  "WHERE l.name = locked.name AND l.id = due.id AND (l.until > clock_timestamp()",
			new:  "WHERE l.name = locked.name AND (l.until > clock_timestamp()",
			in:   pgstore, by: "^TestARenewalRevivesNothing$",
		}, {
			name: "PostgreSQL: a renewal leaves the end of a lease from before a step back of the clock",
			file: statements + "renew.sql",
			old:  "SET until = clock_timestamp() + due.lease * interval '1 millisecond'",
			new:  "SET until = greatest(l.until, clock_timestamp() + due.lease * interval '1 millisecond')",
			in:   pgstore, by: "^TestARenewalAfterAStepBackOfTheClock$",
		}, {
			name: "PostgreSQL: a release wakes nobody",
			file: statements + "release.sql", old: "{{tell}} IS NOT NULL", new: "$5::text IS NOT NULL",
			in: pgstore, by: "^TestAReleaseTellsThoseWhoWait$",
		}, {
			name: "PostgreSQL: a release of several locks wakes nobody",
			file: statements + "release_all.sql", old: "{{tell}} IS NOT NULL", new: "$5::text IS NOT NULL",
			in: pgstore, by: "^TestAReleaseTellsThoseWhoWait$",
		}, {
			name: "PostgreSQL: a release is told although nobody waits",
			file: statements + "release.sql", old: "CASE WHEN l.wanted > clock_timestamp()", new: "CASE WHEN true",
			in: pgstore, by: "^TestAReleaseTellsThoseWhoWait$",
		}, {
			name: "PostgreSQL: a waiter's mark does not wait for the release beside it",
			file: statements + "want.sql", old: "FOR NO KEY UPDATE", new: weaker,
			in: pgstore, by: "^TestAReleaseBesideTheMarkOfAWaiter$",
		}, {
			name: "PostgreSQL: a waiter relies on a message of which nothing was noted",
			file: pgstore + "/lock.go",
			old:  "slices.Contains(a.listens, one.name) && !noted {",
			new:  "slices.Contains(a.listens, one.name) && noted && !noted {",
			in:   pgstore, by: "^TestAWaiterThatIsNotNotedAsksAgainSoon$",
		}, {
			name: "PostgreSQL: a waiter relies on the mark of another, which ends before it polls",
			file: pgstore + "/lock.go",
			old:  "noted := one.wanted-one.now >= poll.Microseconds()", new: "noted := one.wanted > one.now",
			in: pgstore, by: "^TestAWaiterThatIsNotNotedAsksAgainSoon$",
		}, {
			name: "PostgreSQL: a waiter that hears nothing is not marked",
			file: pgstore + "/hub.go", old: "l != nil && len(l.tickets) > 0", new: "h.sub != 0 && l != nil && len(l.tickets) > 0",
			in: pgstore, by: "^TestAWaiterIsMarked$",
		}, {
			name: "PostgreSQL: a lock that is reserved is taken by a client that hears of releases",
			file: statements + "acquire_all.sql", old: "l.id IS NULL AND $6::bool", new: "l.id IS NULL AND $6::bool IS NOT NULL",
			in: pgstore, by: "^TestALockIsReserved$",
		}, {
			name: "PostgreSQL: a lock is reserved again and again by one note",
			file: pgstore + "/statements.go", old: "\", polled = 'epoch'\"", new: "\"\"",
			in: pgstore, by: "^TestALockIsReserved$",
		}, {
			name: "PostgreSQL: a lock is reserved for as long as a note says",
			file: pgstore + "/statements.go",
			old:  "least(l.polled, clock_timestamp() + interval '1 second')", new: "l.polled",
			in: pgstore, by: "^TestALockIsReserved$",
		}, {
			name: "PostgreSQL: a waiter that hears nothing is passed over by any client that asks",
			file: pgstore + "/turns.go", old: "seen && was != id", new: "seen || was != id",
			in: pgstore, by: "^TestAWaiterThatWasPassedOver$",
		}, {
			name: "PostgreSQL: a waiter does not look again when it hears",
			file: pgstore + "/hub.go", old: "rivals{}\n\t\tl.wakeLocked()", new: "rivals{}",
			in: pgstore, by: "^TestAWaiterIsMarked$",
		}, {
			name: "PostgreSQL: tokens fall when the clock is set back",
			file: statements + "acquire.sql", old: minted, new: byClock,
			in: pgstore, by: "^TestTokensGrow$",
		}, {
			name: "PostgreSQL: tokens of several locks fall when the clock is set back",
			file: statements + "acquire_all.sql", old: minted, new: byClock,
			in: pgstore, by: "^TestTokensGrow$",
		}, {
			name: "PostgreSQL: tokens begin anew with the row",
			file: statements + "acquire.sql", old: minted, new: "l.fence + 1024",
			in: pgstore, by: "^TestTokensGrow$",
		}, {
			name: "PostgreSQL: a copy of an acquisition is told that another has the lock",
			file: pgstore + "/lock.go", old: "return one.id == id && !one.free()", new: "return one.id == \"\" && !one.free()",
			in: pgstore, by: "^TestACopyIsAnswered$",
		}, {
			name: "PostgreSQL: what a copy took is relied on though the standby may lack it",
			file: pgstore + "/lock.go", old: "s.confirm(s.Within(ctx, when.Within), a)", new: "true, error(nil)",
			in: "pglock", by: "^TestAHoldThatTheStandbyLacksIsNotReliedOn$",
		}, {
			name: "PostgreSQL: what a copy took is relied on though the new primary lacks it",
			file: pgstore + "/lock.go", old: "fences[one.name] != one.fence", new: "fences == nil",
			in: pgstore, by: "^TestWhatAnotherServerLacksIsNotConfirmed$",
		}, {
			name: "PostgreSQL: what a copy took is relied on though the new primary has it with another token",
			file: pgstore + "/lock.go", old: "fences[one.name] != one.fence", new: "fences[one.name] == 0",
			in: pgstore, by: "^TestWhatAnotherServerLacksIsNotConfirmed$",
		}, {
			name: "PostgreSQL: a server of another timeline is the same",
			file: pgstore + "/lineage.go",
			old:  "replaced = o.timeline != \"\" && o.timeline != timeline",
			new:  "replaced = false",
			in:   pgstore, by: "^TestAnotherTimelineIsAnotherServer$",
		}, {
			name: "PostgreSQL: two servers are known, and statements do not compare whose clock wrote a lease",
			file: pgstore + "/lineage.go", old: "return o.since == 0 || now-o.since >= lease", new: "return true",
			in: pgstore, by: "^TestWhichClockIsTrusted$",
		}, {
			name: "PostgreSQL: statements do not compare that behind a pooler, either",
			file: pgstore + "/store.go", old: "return !s.conns.asker.pooled.Load() && ", new: "return ",
			in: pgstore, by: "^TestNothingIsSettledBehindAPooler$",
		},
	}...)
}
