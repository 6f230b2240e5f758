package mutants

// Mutants of locks that stay with a process.
func init() {
	table = append(table, []mutant{
		{
			name: "an idle lock is not released when another process wants it",
			file: "internal/engine/keeper.go",
			old:  "if g != nil {\n\t\te.sender.Spawn(g.letGo)",
			new:  "if g != nil && g.id == \"\" {\n\t\te.sender.Spawn(g.letGo)",
			in:   "rlock", by: "^TestAnIdleLockIsGivenToAnother$",
		}, {
			name: "a hold that another process wants stays idle after its end",
			file: "internal/engine/keeper.go",
			old:  `return !g.kept.wanted && !g.suspect`,
			new:  `return !g.suspect`,
			in:   "rlock", by: "^TestAHeldLockIsReleasedForAnother$",
		}, {
			name: "a want that comes before the answer is forgotten",
			file: "internal/engine/keeper.go",
			old:  `if w.ID == id {`,
			new:  `if w.ID == "" {`,
			in:   "internal/engine", by: "^TestAWantThatComesBeforeTheAnswerIsRemembered$",
		}, {
			name: "the script does not say that somebody waits",
			file: "lua/fragment_want.lua",
			old:  `redis.pcall('PUBLISH', 'holdfast_wanted:' .. client, fields[1] .. ' ' .. lock)`,
			new:  `redis.pcall('PUBLISH', 'holdfast_wanted:' .. client, '')`,
			in:   "rlock", by: "^TestAnIdleLockIsGivenToAnother$",
		}, {
			name: "a try does not wait until the lock was let go",
			file: "internal/engine/acquire.go",
			old:  `w.recalled > told {`,
			new:  `w.recalled > told+9 {`,
			in:   "rlock", by: "^TestAnIdleLockIsGivenToAnother$",
		}, {
			name: "an idle lock is kept for ever",
			file: "internal/engine/keeper.go",
			old:  "return g.IsIdleLocked()\n}",
			new:  "return false\n}",
			in:   "rlock", by: "^TestAKeptLockIsReleasedInTime$",
		}, {
			name: "a lock is kept although the store's word on it is old",
			file: "internal/engine/keeper.go",
			old:  `!g.suspect && now-g.since < KeepMost`,
			new:  `!g.suspect && now-g.since >= 0`,
			in:   "rlock", by: "^TestATurnThatEndsLateIsNotKept$",
		}, {
			name: "a kept lock gives the same token twice",
			file: "internal/engine/keeper.go",
			old:  `g.fence, g.spare = g.fence+1, g.spare-1`,
			new:  `g.spare--`,
			in:   "rlock", by: "^TestAKeptLockSendsNothing$",
		}, {
			name: "an idle lock is in the way of a try of its own process",
			file: "internal/engine/keeper.go",
			old:  `if e.keeper.isEmpty() {`,
			new:  `if !e.keeper.isEmpty() {`,
			in:   "rlock", by: "^TestAnIdleLockIsInNobodysWayHere$",
		}, {
			name: "an idle lock is in the way of a waiter of its own process",
			file: "internal/engine/waiter.go",
			old:  `if g := k.unusedLocked(w.req.Proto); g != nil && g.IsIdleLocked() {`,
			new:  `if g := k.unusedLocked(w.req.Proto); g != nil && g.IsIdleLocked() && tryOnly {`,
			in:   "rlock", by: "^TestAnIdleLockIsInNobodysWayHere$",
		}, {
			name: "a name that others want is kept again at once",
			file: "internal/engine/keeper.go",
			old:  `return !known || now >= max(b.until, b.mute)`,
			new:  `return !known || b.until >= 0`,
			in:   "rlock", by: "^TestTwoThatAlternateDoNotKeep$",
		}, {
			name: "a process that is asked for a lock takes it again before the other one",
			file: "internal/engine/unlock.go",
			old:  `r.receivers, r.others, r.asked = max(r.receivers, 1), max(r.others, 1), true`,
			new:  `_ = r.receivers`,
			in:   "rlock", by: "^TestTheOneThatAskedIsNext$",
		}, {
			name: "a lock becomes idle while a caller of its process waits",
			file: "internal/engine/keeper.go",
			old:  `!g.freshLocked(at) || k.queue != nil && !k.queue.Empty() || !k.listsLocked(g) ||`,
			new:  `!g.freshLocked(at) || !k.listsLocked(g) ||`,
			in:   "internal/engine", by: "^TestLongSearchOfAKey$/^wanted,_and_plain$",
			says: "nobody wakes",
		}, {
			name: "a lock that is in use again is let go",
			file: "internal/hold/grant.go",
			old:  "if g.state != idle {\n\t\treturn false",
			new:  "if g.state == over {\n\t\treturn false",
			in:   "internal/engine", by: "^TestSearchOfAKey$/^kept_for_long$", says: "what the store does not have",
		}, {
			name: "a lock that becomes idle a second time stays for ever",
			file: "internal/engine/keeper.go",
			old:  `g.kept.armed = false // and again when it is idle again`,
			new:  `g.kept.armed = !g.IsIdleLocked()`,
			in:   "internal/engine", by: "^TestSearchOfAKey$/^kept_for_long$", says: "armed that is not",
		}, {
			name: "a want of an older hold ends the present one",
			file: "internal/engine/keeper.go",
			old:  `if g.id != id || g.kept == nil {`,
			new:  `if g.kept == nil {`,
			in:   "internal/engine", by: "^TestLongSearchOfAKey$/^wanted$", says: "taken for its own",
		}, {
			name: "a try is refused while its process releases an idle lock",
			file: "internal/engine/keeper.go",
			old:  `!g.IsIdleLocked() && g.kept.gone == nil {`,
			new:  `!g.IsIdleLocked() {`,
			in:   "rlock", by: "^TestATryWaitsWhileAnIdleLockIsReleased$",
		}, {
			name: "Close leaves an idle lock to its lease",
			file: "internal/hold/grant.go",
			old:  `from == between && how == Closed,`,
			new:  `(from == between || from == idle) && how == Closed,`,
			in:   "internal/engine", by: "^TestLongSearchOfAKey$/^wanted_and_closed$",
		}, {
			name: "Close names what nobody holds",
			file: "internal/engine/engine.go",
			old:  `if ended.Losers > 0 {`,
			new:  `if ended.Losers >= 0 {`,
			in:   "rlock", by: "^TestAKeptLockThatIsGoneIsNotEntered$",
		}, {
			name: "a holder is not told that somebody of its process waits",
			file: "internal/engine/waiter.go",
			old:  "if w.Look() == localqueue.Waiting && w.Size == 0 {",
			new:  "if w.Look() == localqueue.Granted && w.Size == 0 {",
			in:   "rlock", by: "^TestWanted$",
		}, {
			name: "a lock that was kept is left to others for no longer than any other",
			file: "internal/engine/key.go", old: "case owed > 0 && g.kept != nil,", new: "case owed < 0 && g.kept != nil,",
			in: "internal/engine", by: "^TestALockThatWasKeptIsLeftForLonger$",
		}, {
			name: "a client that lets a lock go because another one asked for it waits as long as for a stranger",
			file: "internal/engine/key.go", old: "case ends.asked: //", new: "case ends.asked && owed < 0: //",
			in: "internal/engine", by: "^TestALockThatWasKeptIsLeftForLonger$",
		}, {
			name: "a lock that was kept goes on with its series when its last turn was short",
			file: "internal/engine/key.go", old: "last, ends = g.since, k.wanted", new: "last, ends = last, k.wanted",
			in: "internal/engine", by: "^TestALockThatWasKeptIsLeftForLonger$",
		}, {
			name: "an idle lock that was taken off for others is not listed when it is idle again",
			file: "internal/engine/keeper.go", old: "g.kept.placed.Store(0)", new: "_ = g",
			in: "internal/engine", by: "^TestTheLongestUnusedIsLetGo$",
		},
	}...)
}
