package mutants

// mutant is one way to break the locks.
type mutant struct {
	name string
	file string // a pattern, from the module's root
	old  string // what stands there, exactly once in one of them
	new  string
	in   string   // the package whose tests must notice
	by   string   // -run: the tests that must
	args []string // further arguments of theirs
	says string   // a pattern of what they must say, if it matters
}

// table lists the mutants: scripts, the watchdog, and the engine.
var table = append(histories, []mutant{
	{
		name: "a fair lock passes over the next in the queue",
		file: "internal/localqueue/place.go",
		old:  `w.ticket > 0 && w.ticket <= q.next && !p.unsure`,
		new:  `!p.unsure`,
		in:   "fairlock", by: "^TestPassingKeepsTheOrderOfTheQueue$",
	}, {
		name: "who stands next in a fair lock's queue may be anybody's",
		file: "lua/fragment_fair_next.lua",
		old:  `if client_of(some[i]) ~= client then`,
		new:  `if client == nil then`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockSaysWhoStandsNext$",
	}, {
		name: "a client that was alone in a fair lock's queue does not see others come",
		file: "lua/fragment_fair_next.lua",
		old:  `if known[7] and (known[7] ~= client or before and client_of(before) ~= client) then`,
		new:  `if not client then`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockSeesWhoComesToAClientThatWasAlone$",
	}, {
		name: "a waiter that has to be heard of is not told",
		file: "internal/localqueue/place.go",
		old: `		w.state = Asking
		w.signal()
`,
		new: `		w.state = Asking
`,
		in: "internal/localqueue", by: "^TestOnlyTheFirstPolls$",
	}, {
		name: "only the first turn that is passed on is looked after",
		file: "internal/engine/queue.go",
		old:  `e.wheel.Schedule(&t.timer, at)`,
		new:  `_ = at`,
		in:   "fairlock", by: "^TestInspectInALaterTurnOfARun$",
	}, {
		name: "a waiter is passed a fair lock while its registration may still be carried out",
		file: "internal/localqueue/place.go",
		old:  ` && p.late == 0`,
		new:  ``,
		in:   "internal/localqueue", by: "^TestPassingToOneThatHasAPlace$",
	}, {
		name: "a waiter that leaves while it is registered keeps its place",
		file: "internal/engine/queue.go",
		old:  `for _, id := range left {`,
		new:  `for _, id := range left[:0] {`,
		in:   "internal/memstore", by: "^TestOneThatLeavesDuringItsRegistrationHasNoPlace$",
	}, {
		name: "the registrar does not learn which waiters left",
		file: "internal/localqueue/place.go",
		old:  `left = append(left, w.ID)`,
		new:  `_ = w`,
		in:   "internal/localqueue", by: "^TestLongSearchOfAQueue$",
	}, {
		name: "a request is carried out after its id is forgotten",
		file: "internal/serverclock/serverclock.go",
		old:  `w.NotAfter = min(w.NotAfter, w.Until)`,
		new:  `_ = w`,
		in:   "internal/serverclock", by: "^TestNothingIsCarriedOutAfterTheIdIsForgotten$",
	}, {
		name: "a hold that is lost and never unlocked has no end for an observer",
		file: "internal/engine/grant.go",
		old:  "\te.events.ended(ended.Owners, ended.Cause)\n",
		new:  "",
		in:   "internal/testkit/observertest", by: "^TestEveryWayIsToldOnce$",
	}, {
		name: "a hold that Close ends has no end for an observer",
		file: "internal/engine/engine.go",
		old:  "\t\te.events.ended(ended.Owners, ended.Cause)\n",
		new:  "",
		in:   "internal/testkit/observertest", by: "^TestEveryWayIsToldOnce$",
	}, {
		name: "a hold whose time is over is told to be gone where the store says so first",
		file: "internal/engine/grant.go",
		old:  "reason == hold.Gone && !g.Valid() {", new: "false {",
		in: "internal/engine", by: "^TestAHoldWhoseTimeIsOverIsNotTakenAway$",
	}, {
		name: "a hold that is lost while an observer is told that it began has no end",
		file: "internal/engine/grant.go",
		old:  `Ended(owner, overCause(h))`,
		new:  `_ = owner`,
		in:   "internal/testkit/observertest", by: "^TestAHoldThatIsLostWhileItIsToldOf$",
	}, {
		name: "a registration brings nobody to life",
		file: "lua/fair_enqueue.lua",
		old:  `redis.call('ZADD', alive, string.format('%.0f', clock + life), client)`,
		new:  ``,
		in:   "fairlock", by: "^TestARegistrationRacesTheReleaseThatEmptiesTheQueue$",
	}, {
		name: "nobody is registered again of whom a registration says that they were given up",
		file: "internal/engine/queue.go",
		old:  `if unknown || reply.Lapsed {`,
		new:  `if unknown && reply.Lapsed {`,
		in:   "fairlock", by: "^TestALapseIsTold$",
	}, {
		name: "the release of a fair lock leaves the places of those who were served",
		file: "fairlock/passed.go",
		old:  `return p.release(id, p.served, sharded, wantNow)`,
		new:  `return p.release(id, nil, sharded, wantNow)`,
		in:   "fairlock", by: "^TestPassingKeepsTheOrderOfTheQueue$",
	}, {
		name: "a claim takes what another client was invited to",
		file: "lua/fair_acquire.lua",
		old:  `if invited and client_of(holder) == client then`,
		new:  `if invited then`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockGoesFromOneToTheNext$",
	}, {
		name: "a claim costs another waiter of its client its place",
		file: "lua/fair_acquire.lua",
		old:  `redis.call('ZADD', queue, 'XX', place(score), holder)`,
		new:  `redis.call('ZREM', queue, holder)`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockComesToAClient$",
	}, {
		name: "a claim does not say that another was meant",
		file: "lua/fair_acquire.lua",
		old:  `    swapped = 1`,
		new:  `    swapped = 0`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockSaysThatAnotherWasMeant$",
	}, {
		name: "a hold passes to a waiter that has another place than it was told",
		file: "internal/localqueue/place.go",
		old: `		if w.Registers() {
			w.Place.unsure = true`,
		new: `		if w.Registers() {
			_ = w`,
		in: "internal/localqueue", by: "^TestPassingToOneThatHasAPlace$",
	}, {
		name: "a claim leaves its waiter in the queue",
		file: "lua/fair_acquire.lua",
		old: `  redis.call('ZREM', queue, id)
  local next = entered(known[5])`,
		new: `  local next = entered(known[5])`,
		in:  "internal/redisstore/luacall", by: "^TestFairLockSaysWhoStandsNext$",
	}, {
		name: "a claim has the lease of an invitation",
		file: "lua/fair_acquire.lua",
		old: `  redis.call('PEXPIRE', lock, lease)
  redis.call('HSET', lock, id, 1)`,
		new: `  redis.call('HSET', lock, id, 1)`,
		in:  "internal/redisstore/luacall", by: "^TestFairLockNestedHoldEndsWhole$",
	}, {
		name: "a waiter that a message invited takes the lock, though another holds it",
		file: "lua/fair_acquire.lua",
		old:  `local first, dead, mine = nil, 0, false`,
		new:  `local first, dead, mine = nil, 0, ticket > 0`,
		in:   "fairlock", by: "^TestAForgedMessageGrantsNothing$", says: "two have the lock",
	}, {
		name: "a release tells nobody of its invitation",
		file: "lua/fair_release.lua",
		old: `if first then
  redis.pcall(publish`,
		new: `if not first then
  redis.pcall(publish`,
		in: "internal/redisstore/luacall", by: "^TestFairLockIsNotKeptForOneThatWasServed$",
	}, {
		name: "a store has all clients ask that wait",
		file: "internal/memstore/fair.go",
		old:  `{ t.publishLocked(t.to + client(id)) }`,
		new: `{
	for _, p := range t.places {
		t.publishLocked(t.to + client(p.id))
	}
	_ = id
}`,
		in: "fairlock", by: "^TestOneRequestClaimsTheLock$",
	}, {
		name: "an invitation stands for as long as a queue is kept",
		file: "lua/fair_release.lua",
		old:  `'PEXPIRE', lock, grant)`,
		new:  `'PEXPIRE', lock, unused)`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockClientsDieWithTime$",
	}, {
		name: "a waiter that leaves keeps its invitation",
		file: "lua/fair_release.lua",
		old:  `if standing[1] then`,
		new:  `if standing[1] and standing[1] ~= '1000000000' then`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockLeftFromAnyPlace$",
	}, {
		name: "an invitation counts as a hold",
		file: "lua/fragment_fair_holder.lua",
		old:  `fields[2] == '1000000000'`,
		new:  `false`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockLapsedInvitationIsWorthNothing$",
	}, {
		name: "a store gives any client what another was invited to",
		file: "internal/memstore/fair.go",
		old:  `client(l.id) == client(ask.ID)`,
		new:  `l.id != ""`,
		in:   "internal/testkit/simulation", by: "^TestInvitationSchedules$", says: "and was served after client",
	}, {
		name: "invitations follow one another for ever",
		file: "lua/fair_release.lua",
		old:  `clock - run >= tonumber(ARGV[10])`,
		new:  `clock < run`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockRunEnds$",
	}, {
		name: "a waiter in the queue takes the lock while that is kept free for others",
		file: "lua/fair_acquire.lua",
		old:  `elseif out > clock then`,
		new:  `elseif out < 0 then`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockRunEnds$",
	}, {
		name: "a hold passes however long ago Redis said who stands next",
		file: "internal/localqueue/place.go",
		old:  `now-q.stood >= runTime+min(q.run.trip, longTrip)`,
		new:  `now < q.stood`,
		in:   "internal/localqueue", by: "^TestPassingToOneThatHasAPlace$",
	}, {
		name: "a copy of an acquisition that comes before the answer to the release has the lock",
		file: "internal/engine/unlock.go",
		old:  "\tif g.doubt > 0 {\n\t\tg.engine().sender.Disown(",
		new:  "\tif g.doubt > 0 && g.engine().store.Late(g.proto.Key(), g.doubt) > 0 {\n\t\tg.engine().sender.Disown(",
		in:   "internal/engine", by: "^TestACopyThatComesBeforeTheAnswerToTheRelease$",
	}, {
		name: "a place is forgotten when a hold would be over",
		file: "internal/request/ledger.go",
		old:  "case traits.Queues:",
		new:  "case false:",
		in:   "fairlock", by: "^TestOneOfAShortLeaseLeavesDuringAnOutage$",
	}, {
		name: "release does not look whose hold it is",
		file: "lua/release.lua",
		old:  `redis.call('HDEL', KEYS[1], ARGV[1]) == 0`,
		new:  `redis.call('DEL', KEYS[1]) == 0`,
		in:   "internal/redisstore/luacall", by: "^TestReleaseOfAHoldThatIsGone$",
	}, {
		name: "release in a bundle does not look whose hold it is",
		file: "lua/release_many.lua",
		old:  `redis.pcall('HDEL', KEYS[i], id)`,
		new:  `redis.pcall('DEL', KEYS[i])`,
		in:   "internal/redisstore/luacall", by: "^TestReleaseOfAHoldThatIsGone$",
	}, {
		name: "acquisition in a bundle may come late",
		file: "lua/acquire_many.lua",
		old:  `now <= tonumber(ARGV[at + 2])`,
		new:  `true`,
		in:   "internal/redisstore/luacall", by: "^TestAcquireLate$",
	}, {
		name: "release wakes nobody",
		file: "lua/release.lua",
		old:  `receivers = redis.pcall(ARGV[3], ARGV[2], '0')`,
		new:  `receivers = 0`,
		in:   "internal/redisstore/luacall", by: "^TestRelease$",
	}, {
		name: "renewal does not look whose hold it is",
		file: "lua/renew.lua",
		old:  `elseif not hold[1] then`,
		new:  `elseif redis.call('EXISTS', lock) == 0 then`,
		in:   "internal/redisstore/luacall", by: "^TestRenewCreatesNothing$",
	}, {
		name: "adoption does not look whose hold it is",
		file: "lua/adopt.lua",
		old:  `if not holds[1] or holds[1] == '1000000000' then`,
		new:  `if redis.call('EXISTS', lock) == 0 then`,
		in:   "internal/redisstore/luacall", by: "^TestAdopt$",
	}, {
		name: "the id of a passage does not say its token",
		file: "internal/engine/transfer.go",
		old:  `"%d %d %d %s", p.Fence, p.Retain, p.Most, p.Secret)`,
		new:  `"%d %d %d %s", 0, p.Retain, p.Most, p.Secret)`,
		in:   "rlock", by: "^TestATokenThatWasChangedTakesNothing$",
	}, {
		name: "the id of a passage does not say its end",
		file: "internal/engine/transfer.go",
		old:  `"%d %d %d %s", p.Fence, p.Retain, p.Most, p.Secret)`,
		new:  `"%d %d %d %s", p.Fence, 0, p.Most, p.Secret)`,
		in:   "rlock", by: "^TestATokenThatWasChangedTakesNothing$",
	}, {
		name: "the id of a passage does not say for how long it retains at most",
		file: "internal/engine/transfer.go",
		old:  `"%d %d %d %s", p.Fence, p.Retain, p.Most, p.Secret)`,
		new:  `"%d %d %d %s", p.Fence, p.Retain, 0, p.Secret)`,
		in:   "rlock", by: "^TestATokenThatWasChangedTakesNothing$",
	}, {
		name: "an export that nobody confirms is taken back by one of its ids",
		file: "internal/engine/transfer.go",
		old:  `e.sender.Disown(g.disowned(0))`,
		new:  `_ = g`,
		in:   "rlock", by: "^TestUnconfirmedExportIsTakenBack$",
	}, {
		name: "an export that nobody confirms leaves the id of its passage",
		file: "internal/engine/transfer.go",
		old:  `e.disown(req, ask.ID, w.attempts.Late(), 0)`,
		new:  `_ = w`,
		in:   "rlock", by: "^TestUnconfirmedExportIsTakenBackByBothIDs$",
	}, {
		name: "an export ends while a copy of the acquisition may come",
		file: "internal/engine/transfer.go",
		old:  `max(late, g.doubt)); wait > 0 {`,
		new:  `max(late, g.doubt)); wait < 0 {`,
		in:   "rlock", by: "^TestLateAcquisitionOfAnExportedHoldLeavesNoOrphan$",
	}, {
		name: "one that began to count from 1 is taken for the clock's",
		file: "lua/fragment_fence_judge.lua",
		old:  `if not ahead and value * 2 > now then`,
		new:  `if not ahead then`,
		in:   "internal/redisstore/luacall", by: "^TestNoTokenIsGivenTwice$",
	}, {
		name: "the numbers to spare begin with the stored one",
		file: "lua/fragment_fence_judge.lua",
		old:  `math.min(now - value - 1, 1023)`,
		new:  `math.min(now - value, 1023)`,
		in:   "internal/redisstore/luacall", by: "^TestNoTokenIsGivenTwice$",
	}, {
		name: "a waiter that may ask is not told",
		file: "internal/localqueue/queue.go",
		old: `			w.state = Asking
			w.signal()`,
		new: `			w.state = Asking`,
		in:  "internal/localqueue", by: "^TestLongSearchOfAQueue$",
	}, {
		name: "a hold passes while another one is in the way",
		file: "internal/localqueue/queue.go",
		old:  `q.holds.anyBesides(mode, w.Kind.Follows) || `,
		new:  ``,
		in:   "internal/localqueue", by: "^TestLongSearchOfAQueue$",
	}, {
		name: "of all that were refused two go on asking",
		file: "internal/localqueue/answer.go",
		old:  `other.wait(Waiting) // a second`,
		new:  `other.wait(Waiting); break // a second`,
		in:   "internal/localqueue", by: "^TestLongSearchOfAQueue$",
	}, {
		name: "a waiter that left is registered all the same",
		file: "internal/localqueue/place.go",
		old:  "if w.state == Left {\n\t\t\tcontinue",
		new:  "if w.state == Left && w.listed() {\n\t\t\tcontinue",
		in:   "internal/localqueue", by: "^TestLongSearchOfAQueue$",
	}, {
		name: "a goroutine that comes back at once owes nothing",
		file: "internal/engine/unlock.go",
		old:  `return nil, g.portion != nil || g.proto.Excludes(g.proto.Mode())`,
		new:  `return nil, false`,
		in:   "rlock", by: "^TestClientsOfOneGoroutineShare$",
	}, {
		name: "a hold counts from the last refusal, whatever rest of its lease the store tells",
		file: "internal/engine/attempt.go",
		old:  `rest > 0 {`,
		new:  `rest < 0 {`,
		in:   "internal/engine", by: "^TestAHoldIsValidForNoLongerThanTheRestOfItsLease$",
	}, {
		name: "what is owed is forgotten with the key",
		file: "internal/engine/key.go",
		old:  `k.queue.Remembers(k.table.engine.clock.Now()):`,
		new:  `!k.queue.Empty():`,
		in:   "internal/engine", by: "^TestWhatIsOwedOutlivesTheKey$",
	}, {
		name: "what is owed is remembered for ever",
		file: "internal/engine/table.go",
		old:  `now >= d.line[n].until`,
		new:  `now >= 99*d.line[n].until`,
		in:   "internal/engine", by: "^TestWhatIsOwedOutlivesTheKey$",
	}, {
		name: "a caller enters a key that was removed",
		file: "internal/engine/table.go",
		old:  `if !k.dead {`,
		new:  `if k != nil {`,
		in:   "internal/engine", by: "^TestAKeyThatIsRemovedIsNotEntered$",
	}, {
		name: "a series of short turns does not end",
		file: "internal/localqueue/run.go",
		old:  `if took+took/time.Duration(s.turns) > runShort {`,
		new:  `if took+took/time.Duration(s.turns) > time.Hour {`,
		in:   "internal/localqueue", by: "^TestASeriesIsBoundedByTime$",
	}, {
		name: "a writer's release counts twice",
		file: "internal/redisstore/wake/listen.go",
		old:  `if payload != "0" || t.last != "1" {`,
		new:  `if payload != "" {`,
		in:   "internal/redisstore/wake", by: "^TestAWritersReleaseCountsOnce$",
	}, {
		name: "a renewal of a reader leaves the expiry from before a step back of the clock",
		file: "lua/rw_read_renew.lua",
		old:  `elseif not refused and type(redis.pcall('PEXPIRE', hold, ttl))`,
		new:  `elseif not refused and life < tonumber(ttl) and type(redis.pcall('PEXPIRE', hold, ttl))`,
		in:   "internal/redisstore/luacall", by: "^TestARenewalOfAReaderAfterAStepBackOfTheClock$",
	}, {
		name: "a renewal of all readers leaves the lock its expiry from before a step back of the clock",
		file: "lua/rw_read_renew.lua",
		old:  `redis.pcall('HLEN', lock) == fields`,
		new:  `redis.pcall('HLEN', lock) < fields`,
		in:   "internal/redisstore/luacall", by: "^TestARenewalBesideOthersAfterAStepBackOfTheClock$",
	}, {
		name: "a renewal of a reader shortens the lease that another has",
		file: "lua/rw_read_renew.lua",
		old:  `redis.pcall('HLEN', lock) == fields`,
		new:  `redis.pcall('HLEN', lock) >= fields`,
		in:   "internal/redisstore/luacall", by: "^TestARenewalBesideOthersAfterAStepBackOfTheClock$",
	}, {
		name: "a renewal of a writer shortens the lease of a read inside",
		file: "lua/rw_write_renew.lua",
		old:  `redis.pcall('HLEN', lock) == 2`,
		new:  `redis.pcall('HLEN', lock) >= 2`,
		in:   "internal/redisstore/luacall", by: "^TestARenewalOfAWriterAfterAStepBackOfTheClock$",
	}, {
		name: "a line that is over takes callers",
		file: "internal/redisstore/wake/hub.go",
		old:  `if l.add(channel, key, tickets...) {`,
		new:  `if l.add(channel, key, tickets...) || l.shard == "" {`,
		in:   "internal/redisstore/wake", by: "^TestACallerThatComesToALineThatIsOver$",
	}, {
		name: "a line that nobody needs stays",
		file: "internal/redisstore/wake/line.go",
		old:  `return len(l.topics) == 0 && l.hub.cfg.Clock.Now()-l.vacant >= unused`,
		new:  `return len(l.topics) == 0 && l.hub.cfg.Clock.Now()-l.vacant >= 100*unused`,
		in:   "internal/redisstore/wake", by: "^TestLinesOfAddressesThatAreGoneEnd$",
	}, {
		name: "one script renews any number of permits",
		file: "internal/redisstore/renew.go",
		old:  `(len(g.at)+1)*g.each > scriptEntries`,
		new:  `len(g.at) > scriptEntries`,
		in:   "internal/redisstore", by: "^TestWhatARoundTripRenewsIsBounded$",
	}, {
		name: "one round trip renews any number of permits",
		file: "internal/redisstore/renew.go",
		old:  `if entries+own > tripEntries && len(calls) > 0 {`,
		new:  `if entries+own > tripEntries && len(calls) < 0 {`,
		in:   "internal/redisstore", by: "^TestWhatARoundTripRenewsIsBounded$",
	}, {
		name: "a scope says that its parent is over, and does not keep to it",
		file: "internal/hold/scope.go",
		old:  "\t\t\ts.standard()\n\t\tcase is.cancel",
		new:  "\t\t\treturn s.parent.Err()\n\t\tcase is.cancel",
		in:   "internal/hold", by: "^TestAScopeThatIsCancelledAsItsParentEnds$",
	}, {
		name: "nobody else has a turn where memory is not enough",
		file: "internal/engine/unlock.go",
		old:  `return nil, g.portion == nil`,
		new:  `return nil, false`,
		in:   "internal/engine", by: "^TestWhereMemoryIsNotEnough$",
	}, {
		name: "to be passed on makes a hold valid for longer",
		file: "internal/hold/grant.go",
		old:  `g.state = stands`,
		new:  `g.state = stands; g.host.Watchdog.Renew(&g.Lease, now, g.terms.Lease)`,
		in:   "internal/hold", by: "^TestPassingOnRaisesNoValidity$",
	}, {
		name: "a hold is valid for longer than its lease",
		file: "internal/hold/host.go",
		old:  `return start + lease - watchdog.Margin(lease, Tick)`,
		new:  `return start + lease + lease/10 + 0*watchdog.Margin(lease, Tick)`,
		in:   "internal/testkit/simulation", by: "^TestSchedules$", says: "is held twice",
	}, {
		name: "a context that nobody has asked for forgets that its parent ended first",
		file: "internal/hold/scope.go",
		old:  `case is == nil && s.parent.Err() != nil:`,
		new:  `case is == nil && s.parent.Err() != nil && false:`,
		in:   "internal/hold", by: "^TestAScopeIsLikeAStandardContext$",
	}, {
		name: "a context that is asked for after its hold ended takes the parent's end for its own",
		file: "internal/hold/scope.go",
		old:  `parent = context.WithoutCancel(parent)`,
		new:  `parent = s.parent`,
		in:   "internal/hold", by: "^TestAScopeIsLikeAStandardContext$",
	}, {
		name: "contexts that end slowly delay the end of others",
		file: "internal/hold/ender.go",
		old:  `const enders = 16`,
		new:  `const enders = 1`,
		in:   "internal/hold", by: "^TestManyLossesAtOnceDelayNoOther$",
	}, {
		name: "a lock that is to be retained is free when it is unlocked",
		file: "internal/engine/unlock.go",
		old:  `if d > 0 {`,
		new:  `if d < 0 {`,
		in:   "internal/testkit/simulation", by: "^TestSchedules$", says: "before it may, after a hold with a MinHold",
	}, {
		name: "a semaphore that nobody uses takes the permits of a longer lease along",
		file: "lua/fragment_permit_unused.lua",
		old:  `math.max(unused, last[2] and tonumber(last[2]) - ms or 0)`,
		new:  `unused`,
		in:   "semaphore", by: "^TestTheExpirySparesLeases$",
	}, {
		name: "a store carries out what comes after its not-after",
		file: "internal/memstore/bound.go",
		old:  `got.now > within.NotAfter`,
		new:  `within.NotAfter == 0`,
		in:   "internal/testkit/simulation", by: "^TestSchedules$", says: "to see it again",
	}, {
		name: "a store gives a writer what readers have",
		file: "internal/memstore/rwlock.go",
		old:  `longest = max(longest, s.leftLocked(r.expires))`,
		new:  `_ = r`,
		in:   "internal/testkit/simulation", by: "^TestSchedules$", says: "is held twice",
	}, {
		name: "a store puts a new waiter before all others",
		file: "internal/memstore/fairqueue.go",
		old:  `return max(now, l.places[n-1].ticket+1)`,
		new:  `return l.places[0].ticket - 1`,
		in:   "internal/testkit/simulation", by: "^TestFairSchedules$", says: "and was served after client",
	}, {
		name: "a store leaves the places of those who were served",
		file: "internal/memstore/fairend.go",
		old:  `t.remove(append([]string{id}, f.served...)...)`,
		new:  `t.remove(id)`,
		in:   "internal/testkit/simulation", by: "^TestFairSchedules$", says: "to see it again",
	}, {
		name: "a store leaves what one that was served was given",
		file: "internal/memstore/fairend.go",
		old:  `l.id == id || slices.Contains(f.served, l.id)`,
		new:  `l.id == id || slices.Contains(f.served, id)`,
		in:   "internal/memstore", by: "^TestFairInMemoryIsFairInRedis$",
	}, {
		name: "a release leaves what one that was served was given",
		file: "lua/fair_release.lua",
		old:  `id, held = ARGV[11 + i], true`,
		new:  `held = false`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockIsNotKeptForOneThatWasServed$",
	}, {
		name: "the client of a holder whose lease ran out is invited",
		file: "lua/fair_acquire.lua",
		old:  `(not holder or redis.call('ZSCORE', queue, last))`,
		new:  `redis.call('ZSCORE', queue, last)`,
		in:   "internal/redisstore/luacall", by: "^TestFairLockPassesOverTheClientOfAHolderWhoseLeaseRanOut$",
	}, {
		name: "a hold that is granted to a caller that has left stays",
		file: "internal/engine/attempt.go",
		old:  `case after.InDoubt(), sent.reply.Status == store.Held, sent.reply.Status == store.Already:`,
		new:  `case after.InDoubt():`,
		in:   "internal/engine", by: "^TestSearchOfAKey$/^passing$", says: "left behind",
	}, {
		name: "a waiter that leaves keeps the hold that was passed to it",
		file: "internal/engine/lock.go",
		old:  `if g := grantOf(h); !e.sender.Spawn(func() { g.discard(h) }) {`,
		new:  `if g := grantOf(h); e.sender.Closed() {`,
		in:   "internal/engine", by: "^TestSearchOfAKey$/^passing$", says: "left behind",
	}, {
		name: "a set does without a member that is busy",
		file: "multilock/take.go",
		old:  `if err := h.takeOne(g, true, false, wait); err != nil {`,
		new:  `if err := h.takeOne(g, true, false, wait); err != nil && !errors.Is(err, lock.ErrBusy) {`,
		in:   "internal/testkit/simulation", by: "^TestSetSchedules$", says: "has the set without",
	}, {
		name: "a set keeps what was taken first",
		file: "multilock/take.go",
		old:  `errs[0] = engine.UnlockAll(h.sets[0])`,
		new:  `errs[0] = nil`,
		in:   "internal/testkit/simulation", by: "^TestSetSchedules$", says: "to see it again",
	}, {
		name: "a store gives a set what another has",
		file: "internal/memstore/batch.go",
		old:  `case l.id != id:`,
		new:  `case l.id != id && i == 0:`,
		in:   "internal/testkit/simulation", by: "^TestSetSchedules$", says: "to see it again",
	}, {
		name: "a server that was restarted has a vote at once",
		file: "redlock/vet.go",
		old:  `if up < c.leastUptime {`,
		new:  `if up < 0*c.leastUptime {`,
		in:   "internal/testkit/simulation", by: "^TestRedlockSchedules$", says: "to see it again",
	}, {
		name: "the record of a queue stays when its last hold is gone",
		file: "lua/fair_release.lua",
		old:  "    if redis.call('EXISTS', lock) == 0 then\n",
		new:  "    if false then\n",
		in:   "internal/redisstore/luacall", by: "^TestFairLockLeavesNoRecordOfAHoldThatIsGone$",
	}, {
		name: "a node that is known to be down counts as late",
		file: "redlock/health.go",
		old:  "\tcase h.down():\n\t\treturn false\n",
		new:  "",
		in:   "redlock", by: "^TestOnlyOneTryWaitsForNodesThatAreDown$",
	}, {
		name: "all tries wait for the answer of a node that is known to be down",
		file: "redlock/health.go",
		old:  `return h.inFlight && (h.down() || now-h.sentAt > timeout)`,
		new:  `return h.inFlight && now-h.sentAt > timeout`,
		in:   "redlock", by: "^TestOnlyOneTryWaitsForNodesThatAreDown$",
	}, {
		name: "a node that did not accept the token counts for it",
		file: "redlock/hold.go",
		old: `		if reply.Accepted {
`,
		new: `		if reply.Status != luacall.Young {
`,
		in: "internal/testkit/simulation", by: "^TestRedlockSchedules$", says: "token [0-9]+ of client",
	}, {
		name: "a store says who stands next though one may come back to its place",
		file: "internal/memstore/fairturn.go",
		old:  `t.clock-t.record.buried < t.times.Life`,
		new:  `t.clock < t.record.buried`,
		in:   "internal/memstore", by: "^TestFairInMemoryIsFairInRedis$",
	}, {
		name: "an invitation to a fair lock is a hold that can move",
		file: "lua/adopt.lua",
		old:  ` or holds[1] == '1000000000'`,
		new:  ``,
		in:   "internal/redisstore/luacall", by: "^TestFairLockInvitationIsNoHoldThatCanMove$",
	}, {
		name: "an export that finds its hold gone leaves the places of those who were served",
		file: "internal/engine/transfer.go",
		old:  "e.leavePlaces(g)\n\t\te.events.lost(err)",
		new:  "e.events.lost(err)",
		in:   "internal/memstore", by: "^TestAnExportOfAHoldThatIsGoneLeavesNoPlace$",
	}, {
		name: "an attempt that does not wait listens",
		file: "internal/engine/attempt.go",
		old:  `w.alsoOn = sent.reply.Also`,
		new: `if w.alsoOn = sent.reply.Also; w.alsoOn != "" && w.also == nil {
				w.also = w.engine().store.Listen(w.alsoOn, "")
			}`,
		in: "internal/memstore", by: "^TestATryListensToNobody$",
	}, {
		name: "a store forgets what a request took",
		file: "internal/memstore/requests.go",
		old:  `outcomeOf{max(ask.NotAfter, ask.Until), value}`,
		new:  `outcomeOf{now, value}`,
		in:   "internal/memstore", by: "^TestACopyOfACountCountsOnce$",
	}, {
		name: "a count that was refused and given up is not cancelled",
		file: "internal/engine/lock.go",
		old:  `r.Loose || r.Proto.Traits().Marks`,
		new:  `r.Proto.Traits().Marks`,
		in:   "internal/memstore", by: "^TestACopyOfACountThatWasGivenUpTakesNothing$",
	}, {
		name: "a read that outlives its write has the end of its range for a token",
		file: "internal/engine/attempt.go",
		old:  `g.withinLocked(h, w.under)`,
		new:  `if k.grant != nil { g.withinLocked(h, w.under) }`,
		in:   "internal/memstore", by: "^TestAReadThatOutlivesItsWriteHasItsToken$",
	}, {
		name: "a read that comes after its write has that one's token",
		file: "internal/engine/attempt.go",
		old:  `if sent.reply.Inside {`,
		new:  `if w.under.id != "" {`,
		in:   "internal/memstore", by: "^TestAReadAfterItsWriteHasTheNewestToken$",
	}, {
		name: "a turn has its predecessor's token",
		file: "internal/engine/unlock.go",
		old:  `fence := g.fence + 1`,
		new:  `fence := g.fence`,
		in:   "rlock", by: "^TestATurnCostsNoRequest$",
	}, {
		name: "the last turn forgets what may come late",
		file: "internal/engine/unlock.go",
		old:  `g.fence, g.spare = fence, g.spare-1`,
		new:  `g.fence, g.spare, g.doubt = fence, g.spare-1, 0`,
		in:   "internal/testkit/faulttest", by: "^TestACopyOfTheAcquisitionThatBeganARunTakesNothing$",
	}, {
		name: "a hold whose count is on its way is passed on",
		file: "internal/hold/grant.go",
		old:  ` && g.settledLocked()`,
		new:  ``,
		in:   "rlock", by: "^TestWhatIsNotPassedOn$",
	}, {
		name: "a hold whose count is in doubt is passed on",
		file: "internal/hold/steps.go",
		old:  `g.steps.phase != sent && !g.steps.doubt`,
		new:  `g.steps.phase != sent`,
		in:   "rlock", by: "^TestNoPassingWhileAStepIsUnanswered$",
	}, {
		name: "a step does not look at the count that it starts from",
		file: "lua/levels.lua",
		old:  `if stands == from then`,
		new:  `if stands then`,
		in:   "internal/redisstore/luacall", by: "^TestLevelsFromAnotherCount$",
	}, {
		name: "a step makes a lock of a hold that is gone",
		file: "lua/levels.lua",
		old:  `local stands = redis.call('HMGET', lock, id)[1]`,
		new:  `local stands = redis.call('HMGET', lock, id)[1] or from`,
		in:   "internal/redisstore/luacall", by: "^TestLevelsOfAHoldThatIsGone$",
	}, {
		name: "a grant that somebody has, or that was lost, is passed on",
		file: "internal/hold/grant.go",
		old:  `g.state != between && g.state != idle || `,
		new:  ``,
		in:   "internal/engine", by: "^TestOnlyAGrantBetweenTwoHoldsPasses$",
	}, {
		name: "a handle that is not reentrant enters",
		file: "internal/engine/grant.go",
		old:  `if req.Reentry == Refused {`,
		new:  `if req.Reentry > Refused {`,
		in:   "rlock", by: "^TestNonReentrantRefusesTheContextOfAHold$",
	}, {
		name: "a handle that is not reentrant enters by the other side",
		file: "internal/engine/lock.go",
		old:  `g.enterable(l, req)`,
		new:  `g.standing(l)`,
		in:   "rlock", by: "^TestNonReentrantOfOtherKinds$",
	}, {
		name: "a set takes the others before a member refuses to be entered",
		file: "internal/engine/lockset.go",
		old:  `grantOf(l.Hold()).enterable(l, req)`,
		new:  `grantOf(l.Hold()).standing(l)`,
		in:   "rlock", by: "^TestNonReentrantRefusesTheContextOfAHold$",
	}, {
		name: "an import is not refused the context of a hold",
		file: "internal/engine/transfer.go",
		old:  `if req.Reentry == Refused {`,
		new:  `if req.Reentry > Refused {`,
		in:   "rlock", by: "^TestNonReentrantTellsWhereTheHoldWasTaken$",
	}, {
		name: "permits are waited for where they are to be refused",
		file: "internal/client/client.go",
		old:  `if anew && req.Reentry == engine.Enters {`,
		new:  `if anew {`,
		in:   "rlock", by: "^TestNonReentrantOfOtherKinds$",
	}, {
		name: "a set does not tell where it was taken",
		file: "multilock/take.go",
		old:  `groups, first, answered := l.placed(), 0, false`,
		new:  `groups, first, answered := l.groups, 0, false`,
		in:   "rlock", by: "^TestNonReentrantTellsWhereTheHoldWasTaken$",
	}, {
		name: "a hold with a grace ends with its validity",
		file: "internal/hold/limit.go",
		old:  `m.hold.grant.Lease.ValidUntil()-m.grace`,
		new:  `m.hold.grant.Lease.ValidUntil()`,
		in:   "rlock", by: "^TestGraceEndsTheHoldBeforeItsValidity$",
	}, {
		name: "a grace that a renewal has put off is forgotten",
		file: "internal/hold/limit.go",
		old:  "\t\tm.armLocked()\n\t\treturn 0",
		new:  "\t\treturn 0",
		in:   "rlock", by: "^TestGraceEndsTheHoldBeforeItsValidity$",
	}, {
		name: "no renewal puts the grace off",
		file: "internal/hold/limit.go",
		old:  `case due-g.host.Clock.Now() > Tick:`,
		new:  `case due-g.host.Clock.Now() > Tick && m.grace == 0:`,
		in:   "rlock", by: "^TestARenewalInTimePutsTheGraceOff$",
	}, {
		name: "a hold that was lost by its grace is released while the work stops",
		file: "internal/engine/grant.go",
		old:  `g.disowned(g.Lease.ValidUntil() - g.engine().clock.Now())`,
		new:  `g.disowned(0)`,
		in:   "rlock", by: "^TestGraceEndsTheHoldBeforeItsValidity$",
	}, {
		name: "a hold whose grace has begun is given out",
		file: "internal/engine/grant.go",
		old:  `if c.Grace > 0 && g.Lease`,
		new:  `if c.Grace < 0 && g.Lease`,
		in:   "rlock", by: "^TestAHoldThatComesInItsGraceIsNotGivenOut$",
	}, {
		name: "a reader that joins has no grace",
		file: "internal/hold/grant.go",
		old:  "\th.graceLocked(want.Grace)\n",
		new:  "",
		in:   "rlock", by: "^TestGraceOfReadersOnOneGrant$",
	}, {
		name: "a limited hold is passed on",
		file: "internal/hold/limit.go",
		old:  `h.grant.single = true`,
		new:  ``,
		in:   "rlock", by: "^TestWhatIsNotPassedOn$",
	}, {
		name: "the next turn leaves the count as it is",
		file: "internal/hold/grant.go",
		old:  "\tg.followLocked()\n\treturn h",
		new:  "\treturn h",
		in:   "internal/hold", by: "^TestACountThatIsDueWhileTheGrantPasses$",
	}, {
		name: "a count that Redis did not take is not sent again",
		file: "internal/hold/steps.go",
		old:  `(s.doubt || s.known`,
		new:  `(!s.doubt && s.known`,
		in:   "rlock", by: "^TestTheCountIsTriedAgainWhileTheHoldLives$",
	}, {
		name: "who hears a release does not ask",
		file: "internal/engine/grant.go",
		old:  `e.doubt(g)`,
		new:  `_ = g.Lease.ValidUntil()`,
		in:   "rlock", by: "^TestWhoHearsARelease$",
	}, {
		name: "who hears a release passes on",
		file: "internal/engine/unlock.go",
		old:  `if g.suspect || `,
		new:  `if `,
		in:   "rlock", by: "^TestWhoHearsARelease$",
	}, {
		name: "a writer's hold that a read was inside of is passed on",
		file: "internal/hold/hold.go",
		old:  `h.grant.single = true`,
		new:  ``,
		in:   "rwlock", by: "^TestWhatIsNotPassedToTheNextWriter$",
	}, {
		name: "a read inside a writer's turn has the end of the range for its token",
		file: "internal/engine/grant.go",
		old:  `g.fence, h.Fence = o.fence, o.fence`,
		new:  `_ = o.fence`,
		in:   "rwlock", by: "^TestAWritersTurnCostsNoRequest$",
	}, {
		name: "a redlock has tokens for its run, whatever its nodes know",
		file: "redlock/fence.go",
		old:  `h.spare = min(max(newest-h.floor, 0), maxSpare)`,
		new:  `h.spare = maxSpare`,
		in:   "redlock", by: "^TestWhatIsNotPassedOn$",
	}, {
		name: "a redlock's node spares tokens that it may have forgotten",
		file: "lua/quorum_acquire.lua",
		old:  `if stored * 2 > now and least > stored then`,
		new:  `if least > stored then`,
		in:   "internal/redisstore/luacall", by: "^TestQuorumAcquireSparesWhatNobodyHad$",
	}, {
		name: "a redlock's copy is accepted",
		file: "lua/quorum_acquire.lua",
		old:  `(window < 0 and wish > 0 and not newer)`,
		new:  `((window < 0 or mine) and wish > 0 and not newer)`,
		in:   "internal/redisstore/luacall", by: "^TestQuorumAcquireBusyLateAndResent$",
	}, {
		name: "after a run a redlock's process goes on at once",
		file: "redlock/acquire.go",
		old:  `reply.Receivers = h.others`,
		new:  `reply.Receivers = 0 * h.others`,
		in:   "redlock", by: "^TestAfterARunTheNameIsLeftToOthers$",
	}, {
		name: "a read grant is joined for ever",
		file: "internal/hold/grant.go",
		old:  `now >= g.joins || `,
		new:  ``,
		in:   "rwlock", by: "^TestAGrantIsJoinedForTheTimeOfARun$",
	}, {
		name: "a reader joins past somebody who was told to wait",
		file: "internal/localqueue/join.go",
		old:  `w.refused || `,
		new:  ``,
		in:   "rwlock", by: "^TestAReaderThatWouldOvertakeDoesNotJoin$",
	}, {
		name: "what is read inside a writer's hold is joined",
		file: "internal/engine/join.go",
		old:  `req.Renewed && under.id == ""`,
		new:  `req.Renewed`,
		in:   "rwlock", by: "^TestWhatIsNotJoined$",
	}, {
		name: "each reader of a crowd asks for itself",
		file: "internal/localqueue/join.go",
		old:  `a != nil && a.state == Asking`,
		new:  `a != nil && a.state == Left`,
		in:   "rwlock", by: "^TestACrowdOfReadersSendsOneRequest$",
	}, {
		name: "a reader waits for another's answer for ever",
		file: "internal/engine/join.go",
		old: `			w.overdue()
`,
		new: ``,
		in:  "rwlock", by: "^TestAReaderDoesNotWaitForALateAnswer$",
	}, {
		name: "readers that wait for one at a gate ask for themselves after a time",
		file: "internal/localqueue/join.go",
		old:  `w.state == Awaiting && !q.asker.refused`,
		new:  `w.state == Awaiting`,
		in:   "rwlock", by: "^TestReadersAtAGateSendOneRequest$",
	}, {
		name: "readers from a gate join for as long as others",
		file: "internal/localqueue/join.go",
		old: `		return outweighs(trip) / 2
`,
		new: `		return max(runShort, outweighs(trip))
`,
		in: "rwlock", by: "^TestAWriterBesideACrowdOfReaders$",
	}, {
		name: "nobody asks in place of a reader that leaves a gate",
		file: "internal/localqueue/queue.go",
		old: `	q.askerLeaves(w)
	q.promote()
`,
		new: `	q.promote()
`,
		in: "rwlock", by: "^TestReadersAtAGateSendOneRequest$",
	}, {
		name: "an exported reader takes the grant of the others along",
		file: "lua/rw_read_adopt.lua",
		old:  `if not stays then`,
		new:  `if true then`,
		in:   "rwlock", by: "^TestExportOfAReaderAmongOthers$",
	}, {
		name: "permits pass to the first waiter, however many it waits for",
		file: "internal/localqueue/portion.go",
		old:  `!w.rests() || w.Size != p.Size ||`,
		new:  `!w.rests() ||`,
		in:   "semaphore", by: "^TestTheFirstInLineDecidesWhatPasses$",
	}, {
		name: "the first waiter for permits asks anew, though nothing was heard",
		file: "internal/localqueue/portion.go",
		old:  `if heard.Subscription != 0 && heard == q.watch.heard`,
		new:  `if false && heard == q.watch.heard`,
		in:   "semaphore", by: "^TestPermitsPassWithoutARequest$",
	}, {
		name: "permits pass inside a process for ever",
		file: "internal/localqueue/queue.go",
		old:  `if w != nil && r.over(now, q.debt.others) {`,
		new:  `if w != nil && p == nil && r.over(now, q.debt.others) {`,
		in:   "internal/localqueue", by: "^TestARunOfAPortionIsItsOwn$",
	}, {
		name: "an acquisition may come as late as it likes",
		file: "lua/acquire.lua",
		old:  `if now > tonumber(ARGV[3]) then`,
		new:  `if false then`,
		in:   "internal/redisstore/luacall", by: "^TestAcquireLate$",
	}, {
		name: "an acquisition that is resent mints again",
		file: "lua/fragment_take.lua",
		old:  `if pttl ~= -2 then`,
		new:  `if pttl ~= -2 and redis.call('HEXISTS', lock, id) == 0 then`,
		in:   "internal/redisstore/luacall", by: "^TestAcquireResend$",
	}, {
		name: "a token is the clock's, though a greater one was given out",
		file: "lua/fragment_fence_judge.lua",
		old:  `ahead = value >= now`,
		new:  `ahead = false`,
		in:   "internal/redisstore/luacall", by: "^TestTokenAheadOfTheClock$",
	}, {
		name: "validity counts from the reply to a renewal",
		file: "watchdog/*.go",
		old:  `l.raiseValidityLocked(start + result.Lease`,
		new:  `l.raiseValidityLocked(now + result.Lease`,
		in:   "watchdog", by: "^TestValidityCountsFromTheStart$",
	}, {
		name: "validity ends, and nobody is told",
		file: "watchdog/*.go",
		old:  `w.cfg.Lost(l, cause)`,
		new:  `_ = cause`,
		in:   "watchdog", by: "^TestLostWhenFailuresLast$",
	}, {
		name: "a hold that is gone is believed in until its validity ends",
		file: "watchdog/*.go",
		old:  `	case gone:`,
		new:  `	case gone && now < 0:`,
		in:   "watchdog", by: "^TestGoneIsLostAtOnce$",
	}, {
		name: "renewal survives unlock",
		file: "watchdog/*.go",
		old:  `return w.end(l, stopped)`,
		new:  `return l != nil`,
		in:   "watchdog", by: "^TestStopDuringACall$|^TestOneEndOnly$",
	}, {
		name: "validity counts from the reply to an acquisition",
		file: "internal/engine/*.go",
		old:  `sent.reply.Fence, start, `,
		new:  `sent.reply.Fence, e.clock.Now(), `,
		in:   "internal/testkit/faulttest", by: "^TestEveryRequestTakesEffectOnce$/^acquire$/^reply_lost$",
	}, {
		name: "an acquisition that had to be sent twice is valid from the second time",
		file: "internal/request/attempts.go",
		old:  `return min(start, a.since)`,
		new:  `return max(start, a.since)`,
		in:   "internal/request", by: "^TestDoubtSpansAllRequests$",
	}, {
		name: "contexts end after the release",
		file: "internal/engine/*.go",
		old:  "	if l.End(parted.Ended.Cause) {\n		at = e.clock.Now()\n	}\n	out := l.Out()\n",
		new:  "	time.AfterFunc(time.Minute, func() { l.End(parted.Ended.Cause) })\n	out := l.Out()\n",
		in:   "integration/history", by: "^TestContextEndsBeforeTheReleaseIsSent$",
	}, {
		name: "a lost hold is in the way of the owner that has unlocked it",
		file: "internal/engine/unlock.go",
		old:  `case out.Vacant:`,
		new:  `case out.Vacant && g.key == nil:`,
		in:   "internal/engine", by: "^TestALostHoldThatIsUnlockedIsInNobodysWay$",
	}, {
		name: "a lost hold is in nobody's way while one of its contexts goes on",
		file: "internal/hold/level.go",
		old:  `o.Vacant = g.state == over && g.emptyLocked()`,
		new:  `o.Vacant = g.state == over`,
		in:   "internal/engine", by: "^TestALostHoldThatIsUnlockedIsInNobodysWay$",
	}, {
		name: "a lock goes on with the level that is unlocked last, beside a context that still ends",
		file: "internal/hold/grant.go",
		old:  `g.state != leaving || g.ending > 0`,
		new:  `g.state != leaving`,
		in:   "internal/hold", by: "^TestNobodyHoldsWhileAContextOfTheHoldBeforeLives$",
	}, {
		name: "of two that break a lock the second does not wait for its contexts",
		file: "internal/engine/grant.go",
		old:  "\tg.Left().Contexts()\n",
		new:  "",
		in:   "internal/hold", by: "^TestNobodyHoldsWhileAContextOfTheHoldBeforeLives$",
	}, {
		name: "Close forgets that a lock stays taken while the work of its last hold stops",
		file: "internal/request/ledger.go",
		old:  "\t\t\tone.Wait = max(one.from-now, 0)\n",
		new:  "\t\t\tone.Wait = 0 * (one.from - now)\n",
		in:   "rlock", by: "^TestNobodyHasTheLockBeforeTheGraceIsOver$",
	}, {
		name: "a list looks for keys by the pattern of names",
		file: "operate/place.go",
		old:  `return listing.Quote(p.Prefix) + names`,
		new:  `return listing.Quote("") + names`,
		in:   "operate", by: "^TestListTellsNamesOfTheClientThatAsks$",
	}, {
		name: "nobody releases what may be held",
		file: "internal/request/ledger.go",
		old: `	l.addLocked(node, one)
	return one.end
}`,
		new: `	_ = node
	return one.end
}`,
		in: "internal/testkit/faulttest", by: "^TestGrantThatNobodyWaitsForIsGivenBack$",
	},
}...)
