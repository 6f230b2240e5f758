package mutants

const (
	etcdstore = "etcdlock/internal/etcdstore"
	bothKeys  = `[]string{own, other}`
)

// Mutants of the lock on etcd.
func init() {
	table = append(table, []mutant{
		{
			name: "etcd: a lock is held by every caller that has a key",
			file: etcdstore + "/lock.go",
			old:  "case found.isFirst():",
			new:  "case own != nil:",
			in:   etcdstore, by: "^TestTheFirstHolds$",
		}, {
			name: "etcd: a lock is held by the key that is first by its name",
			file: etcdstore + "/lock.go",
			old:  "first, base := clientv3.OpGet(l.prefix, clientv3.WithFirstCreate()...)",
			new:  "first, base := clientv3.OpGet(l.prefix, clientv3.WithFirstKey()...)",
			in:   etcdstore, by: "^TestTheFirstHolds$",
		}, {
			name: "etcd: a try stands in the queue",
			file: etcdstore + "/lock.go", old: "if ask.Once {", new: "if false {",
			in: etcdstore, by: "^TestATryLeavesNothing$",
		}, {
			name: "etcd: a try looks at one key, and not at all of the name",
			file: etcdstore + "/lock.go",
			old:  "clientv3.CreateRevision(l.prefix).WithPrefix()", new: "clientv3.CreateRevision(l.prefix)",
			in: etcdstore, by: "^TestATryLeavesNothing$",
		}, {
			name: "etcd: a keep-alive that is refused says that the lock was not taken",
			file: etcdstore + "/lock.go", old: "if found.own != nil {\n\t\terr = l", new: "if proved == nil {\n\t\terr = l",
			in: etcdstore, by: "^TestAKeyWhoseHoldIsRefused$",
		}, {
			name: "etcd: a base that cannot be made says that the lock was not taken",
			file: etcdstore + "/lock.go", old: "if found.own != nil {\n\t\terr = l", new: "if proved != nil {\n\t\terr = l",
			in: etcdstore, by: "^TestAKeyWhoseHoldIsRefused$",
		}, {
			name: "etcd: a key stays whose base of tokens is refused",
			file: etcdstore + "/lock.go",
			old:  "kind == store.FaultConflict || kind == store.FaultDefinite", new: "kind == store.FaultConflict",
			in: etcdstore, by: "^TestAKeyWhoseHoldIsRefused$",
		}, {
			name: "etcd: a copy of an acquisition does not see that its id was given up",
			file: etcdstore + "/seal.go", old: "\"<\", at+1)", new: "\">\", -at*0-1)",
			in: "etcdlock", by: "^TestAnAcquisitionThatArrivesLate$/^sealed$",
		}, {
			name: "etcd: an id that is given up is not sealed",
			file: etcdstore + "/seal.go", old: "if copied && seal == nil {", new: "if copied && seal != nil {",
			in: etcdstore, by: "^TestReleasesOfOneID$",
		}, {
			name: "etcd: an id is sealed of which nothing is in doubt",
			file: etcdstore + "/place.go", old: "p.doubt || p.asking > 0, true", new: "true, true",
			in: etcdstore, by: "^TestSealsDoNotGather$",
		}, {
			name: "etcd: the release of a hold whose acquisition is in doubt is not sealed",
			file: etcdstore + "/lock.go", old: "case copied:", new: "case copied && now == nil:",
			in: etcdstore, by: "^TestAKeyWhoseAcquisitionArrivesLate$",
		}, {
			name: "etcd: a seal outlives its client",
			file: etcdstore + "/seal.go",
			old:  "clientv3.OpPut(s.sealKey(now), \"\", clientv3.WithLease(now.id))",
			new:  "clientv3.OpPut(s.sealKey(now), \"\")",
			in:   "etcdlock", by: "^TestAnAcquisitionThatArrivesLate$/^closed$",
		}, {
			name: "etcd: a seal refuses what was sent for another id, too",
			file: etcdstore + "/lock.go", old: "for range 2 {", new: "for range 0 {",
			in: etcdstore, by: "^TestASealForAnotherID$",
		}, {
			name: "etcd: an id is asked for once more that was given up",
			file: etcdstore + "/place.go", old: "p.id != id || p.left {", new: "p == nil {",
			in: etcdstore, by: "^TestAReleaseOvertakesItsAcquisition$",
		}, {
			name: "etcd: a seal counts though a request names a later revision",
			file: etcdstore + "/place.go", old: "!sealed || p.named < at", new: "!sealed || p.named >= 0",
			in: etcdstore, by: "^TestASealBelowWhatWasNamed$",
		}, {
			name: "etcd: a release is refused with the lease on which its seal would hang",
			file: etcdstore + "/seal.go", old: "if leaseless(err) {", new: "if now == nil {",
			in: etcdstore, by: "^TestAReleaseUnderALeaseThatIsOver$",
		}, {
			name: "etcd: a release is given up after a lease, though the client's own goes on",
			file: "internal/request/ledger.go", old: "one.end = never", new: "one.end += 0",
			in: "etcdlock", by: "^TestAReleaseIsSentForAsLongAsItsClientLives$",
		}, {
			name: "etcd: a release frees every lock of the name",
			file: etcdstore + "/lock.go",
			old:  "stands(key, id), []clientv3.Op{clientv3.OpDelete(key)}",
			new:  "stands(key, id), []clientv3.Op{clientv3.OpDelete(l.prefix, clientv3.WithPrefix())}",
			in:   etcdstore, by: "^TestTheFirstHolds$",
		}, {
			name: "etcd: a release among others frees every lock of the name",
			file: etcdstore + "/seal.go",
			old:  "stands(key, one.ID), []clientv3.Op{clientv3.OpDelete(key)}",
			new:  "stands(key, one.ID), []clientv3.Op{clientv3.OpDelete(l.prefix, clientv3.WithPrefix())}",
			in:   etcdstore, by: "^TestAReleaseNamesItsHold$",
		}, {
			name: "etcd: a release of what is gone is told as done",
			file: etcdstore + "/lock.go",
			old:  "if !done {\n\t\treturn store.ReleaseReply{Status: store.Gone}\n\t}", new: "_ = done",
			in: etcdstore, by: "^TestAReleaseNamesItsHold$",
		}, {
			name: "etcd: a late release frees a later hold, which has the same key (etcd 22082)",
			file: etcdstore + "/lock.go", old: "stands(key, id), []clientv3.Op", new: "nil, []clientv3.Op",
			in: "etcdlock", by: "^TestAReleaseThatArrivesLate$",
		}, {
			name: "etcd: two ids of a client have one key",
			file: etcdstore + "/place.go",
			old:  "n = s.placeLocked(l, \"\")", new: "n = len(s.places[l.name]) - 1",
			in: etcdstore, by: "^TestKeysAreUsedAgain$",
		}, {
			name: "etcd: each acquisition has a key that none had before",
			file: etcdstore + "/place.go", old: "n = s.placeLocked(l, \"\")", new: "_ = n",
			in: etcdstore, by: "^TestKeysAreUsedAgain$",
		}, {
			name: "etcd: a key is used again while a copy of a request for it may come",
			file: etcdstore + "/place.go", old: "p.seen == 0 && !p.doubt && p.asking == 0", new: "p.seen == 0 && p.asking == 0",
			in: etcdstore, by: "^TestAKeyInDoubtIsKept$",
		}, {
			name: "etcd: a key is used again while a request is under way that may put it",
			file: etcdstore + "/place.go", old: "p.seen == 0 && !p.doubt && p.asking == 0", new: "p.seen == 0 && !p.doubt",
			in: etcdstore, by: "^TestAKeyIsKeptForEachRequest$",
		}, {
			name: "etcd: the doubt of an id that was sealed is that of the next one",
			file: etcdstore + "/place.go", old: "if p.id == id && (unsure || twice) {", new: "if unsure || twice {",
			in: etcdstore, by: "^TestAKeyIsKeptForEachRequest$",
		}, {
			name: "etcd: a refused request says that the key is not there",
			file: etcdstore + "/place.go", old: "case has == \"\": //", new: "case has == \"\":\n\t\tp.seen = 0 //",
			in: etcdstore, by: "^TestAKeyIsKeptForEachRequest$",
		}, {
			name: "etcd: a key is given back by an answer from before it was put",
			file: etcdstore + "/place.go", old: "if p.seen <= at {", new: "if at >= 0 {",
			in: etcdstore, by: "^TestAnAnswerMayBeOlderThanItsKey$",
		}, {
			name: "etcd: a seal does not give the key back",
			file: etcdstore + "/place.go", old: "*p = place{asking: p.asking}", new: "p.doubt, p.seen = false, 0",
			in: etcdstore, by: "^TestAReleaseOvertakesItsAcquisition$",
		}, {
			name: "etcd: a request without an answer leaves no doubt",
			file: etcdstore + "/place.go", old: "p.doubt = true", new: "p.doubt = n < 0",
			in: etcdstore, by: "^TestAKeyInDoubtIsKept$",
		}, {
			name: "etcd: a try that was refused keeps its key",
			file: etcdstore + "/place.go", old: "case has == \"\": //", new: "case has == \"\":\n\t\tp.seen = 1 << 62 //",
			in: etcdstore, by: "^TestKeysGoBack$",
		}, {
			name: "etcd: a hold that is gone keeps its key",
			file: etcdstore + "/held.go", old: "s.unhold(now, l, id)\n\tnow.free(l, id, at, false)", new: "s.unhold(now, l, id)",
			in: etcdstore, by: "^TestKeysGoBack$",
		}, {
			name: "etcd: a key that has another id is taken for one's own",
			file: etcdstore + "/lock.go", old: "has != ask.ID {", new: "has != ask.ID && n < 0 {",
			in: etcdstore, by: "^TestAKeyThatHasAnotherID$",
		}, {
			name: "etcd: a hold stands whose key has another id",
			file: etcdstore + "/store.go", old: "id == one.ID {", new: "id != \"\" {",
			in: etcdstore, by: "^TestAKeyThatHasAnotherID$",
		}, {
			name: "etcd: an id stands for those that begin with it",
			file: etcdstore + "/place.go", old: "id+after),", new: "id+\"~\"),",
			in: etcdstore, by: "^TestAnIDIsCompared$",
		}, {
			name: "etcd: what was done under a lease that is over is forgotten, though it is not revoked",
			file: etcdstore + "/lock.go", old: "err != nil && doubt.Late > 0 &&", new: "err != nil && doubt.Late < 0 &&",
			in: etcdstore, by: "^TestAnAcquisitionUnderALeaseThatIsOver$",
		}, {
			name: "etcd: an acquisition that arrives after its hold was lost stands",
			file: "internal/engine/grant.go", old: "if g.doubt > 0 && g.proto.Traits().Lasts {", new: "if g.doubt < 0 {",
			in: "etcdlock", by: "^TestAnAcquisitionThatArrivesLate$/^its_hold_was_lost$",
		}, {
			name: "etcd: a request without an answer is not sent by another connection",
			file: etcdstore + "/routes.go", old: "half <= 0 || !s.routes.repeats", new: "half > 0 || !s.routes.repeats",
			in: etcdstore, by: "^TestAnAcquisitionThatIsSentTwice$",
		}, {
			name: "etcd: an acquisition that was sent twice is in no doubt",
			file: etcdstore + "/place.go", old: "p.id == id && (unsure || twice)", new: "p.id == id && unsure",
			in: etcdstore, by: "^TestAnAcquisitionThatIsSentTwice$",
		}, {
			name: "etcd: a release whose first copy was carried out finds that the hold is gone",
			file: etcdstore + "/store.go", old: "return a.Succeeded || a.twice", new: "return a.Succeeded",
			in: etcdstore, by: "^TestAReleaseThatIsSentTwice$",
		}, {
			name: "etcd: a KV of the application's is passed by",
			file: etcdstore + "/routes.go", old: "l.repeats = reflect", new: "l.repeats = cli != nil || reflect",
			in: etcdstore, by: "^TestAnotherKVIsNotPassedBy$",
		}, {
			name: "etcd: a connection of our own that has broken is used on",
			file: etcdstore + "/routes.go", old: "own.conn.GetState() == connectivity.Ready", new: "connectivity.Ready > 0",
			in: etcdstore, by: "^TestAConnectionOfOurOwnThatBreaks$",
		}, {
			name: "etcd: a lease counts from the answer to a keep-alive",
			file: etcdstore + "/pulse.go",
			old:  "now.confirm(sent, s.host", new: "now.confirm(max(sent, s.host.Clock.Now()), s.host",
			in: etcdstore, by: "^TestALeaseCountsFromTheSending$",
		}, {
			name: "etcd: a lease counts from the answer to its grant",
			file: etcdstore + "/session.go", old: "Err: errShorter}\n\t}\n",
			new: "Err: errShorter}\n\t}\n\tmade.since = s.host.Clock.Now()\n",
			in:  etcdstore, by: "^TestALeaseCountsFromTheSending$",
		}, {
			name: "etcd: a hold counts from the answer to its acquisition",
			file: etcdstore + "/lock.go",
			old:  "store.Receipt{Since: s.counts(since, began, ask.Lease), Late: copies}",
			new:  "store.Receipt{Since: max(since, began, s.host.Clock.Now()), Late: copies}",
			in:   etcdstore, by: "^TestALeaseCountsFromTheSending$",
		}, {
			name: "etcd: a renewal counts from its own sending, though a former keep-alive serves it",
			file: etcdstore + "/store.go", old: "all[i].TTL -= max(", new: "all[i].TTL -= 0 * max(",
			in: etcdstore, by: "^TestARenewalByAnEarlierKeepAlive$",
		}, {
			name: "etcd: a hold with a lease of its own is valid for longer than its client's lease",
			file: etcdstore + "/session.go", old: "max(since, min(asked, latest))", new: "max(since, asked, latest*0)",
			in: etcdstore, by: "^TestALeaseThatIsShorter$",
		}, {
			name: "etcd: the answer that a lease has no time left is taken for a renewal",
			file: etcdstore + "/pulse.go", old: "err == nil && reply.TTL <= 0", new: "err == nil && reply.TTL < 0",
			in: etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: holds stand though the client's lease is over",
			file: etcdstore + "/store.go",
			old:  "case errors.Is(err, errOver):\n\t\t\treturn gone(all)",
			new:  "case errors.Is(err, errOver):\n\t\t\treturn nil",
			in:   etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: the end of the client's lease is told as a renewal that failed",
			file: etcdstore + "/store.go",
			old:  "case errors.Is(err, errOver):\n\t\t\treturn gone(all)",
			new:  "case errors.Is(err, errOver):\n\t\t\treturn err",
			in:   etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: a renewal does not look whether the keys are there",
			file: etcdstore + "/store.go",
			old:  "one.Err = watchdog.ErrGone\n\t\tif key", new: "one.Err = nil\n\t\tif key",
			in: etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: a hold stands whose key hangs on another lease",
			file: etcdstore + "/store.go",
			old:  "own := len(kvs) > 0 && clientv3.LeaseID(kvs[0].Lease) == now.id", new: "own := len(kvs) > 0",
			in: etcdstore, by: "^TestAKeyOnAnotherLease$",
		}, {
			name: "etcd: a key that hangs on another lease is taken for the client's own",
			file: etcdstore + "/lock.go",
			old:  "case own != nil && clientv3.LeaseID(own.Lease) != now.id:",
			new:  "case own != nil && now == nil:",
			in:   etcdstore, by: "^TestAKeyOnAnotherLease$",
		}, {
			name: "etcd: a lease that is over is not replaced",
			file: etcdstore + "/session.go",
			old:  "if _, ok := now.valid(); ok {", new: "if _, ok := now.valid(); ok || now.id > 0 {",
			in: "etcdlock", by: "^TestAClientWhoseLeaseIsRevoked$",
		}, {
			name: "etcd: a lease is used again that nothing has confirmed for as long as it lasts",
			file: etcdstore + "/session.go", old: "if now-s.since >= lease {", new: "if now < 0 {",
			in: etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: a lease stays behind that nothing has confirmed for as long as it lasts",
			file: etcdstore + "/session.go",
			old:  "if err := s.revoke(ctx); err != nil { // a key", new: "if err := ctx.Err(); err != nil { // a key",
			in: etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: who finds that the lease is over has to ask again",
			file: etcdstore + "/lock.go", old: "if !errors.Is(err, errOver) {", new: "if err == nil || sent != nil {",
			in: etcdstore, by: "^TestALeaseThatIsOver$",
		}, {
			name: "etcd: Close leaves the client's lease",
			file: etcdstore + "/store.go", old: "_ = s.revoke(ctx) // without", new: "_ = ctx // without",
			in: "etcdlock", by: "^TestCloseLeavesNothing$",
		}, {
			name: "etcd: a waiter does not watch the one before it",
			file: etcdstore + "/hub.go", old: bothKeys, new: `[]string{own}`,
			in: etcdstore, by: "^TestAWaiterHears$/^the_one_before_leaves$",
		}, {
			name: "etcd: a waiter does not watch its own key (etcd 19597)",
			file: etcdstore + "/hub.go", old: bothKeys, new: `[]string{other, own}[:1]`,
			in: etcdstore, by: "^TestAWaiterHears$/^its_own_key_is_deleted$",
		}, {
			name: "etcd: a watch begins when it is asked for, and not where the waiter looked",
			file: etcdstore + "/hub.go", old: "watcher.watch(key, at+1,", new: "watcher.watch(key, 0*at,",
			in: etcdstore, by: "^TestAWaiterHears$/^before_the_watch$",
		}, {
			name: "etcd: a watch that is refused, since its history was compacted, wakes nobody",
			file: etcdstore + "/watcher.go", old: "case !reply.Canceled:", new: "case one.from > 0:",
			in: etcdstore, by: "^TestAWaiterHears$/^before,_and_was_compacted$",
		}, {
			name: "etcd: a hold is granted whose token cannot grow",
			file: etcdstore + "/lock.go", old: "if token == 0 {", new: "if token < 0 {",
			in: "etcdlock", by: "^TestATokenThatCannotGrow$",
		}, {
			name: "etcd: tokens are revisions, below those of other stores",
			file: etcdstore + "/base.go", old: "max(base+revision*tokensEach", new: "max(revision*tokensEach",
			in: etcdstore, by: "^TestTheBaseOfTokens$",
		}, {
			name: "etcd: each client makes a base of its own",
			file: etcdstore + "/base.go",
			old:  "clientv3.Compare(clientv3.CreateRevision(key), \"=\", 0)",
			new:  "clientv3.Compare(clientv3.CreateRevision(key), \">\", -1)",
			in:   etcdstore, by: "^TestTheBaseOfTokens$",
		}, {
			name: "etcd: the last turn of a run has the token of the hold before",
			file: etcdstore + "/lock.go", old: "Spare: tokensEach - 1}", new: "Spare: tokensEach}",
			in: etcdstore, by: "^TestTheBaseOfTokens$",
		}, {
			name: "etcd: Rebase stays below tokens that were issued",
			file: etcdstore + "/base.go",
			old:  "now.UnixMicro() + leap + steep*", new: "now.UnixMicro() + 0*steep*",
			in: etcdstore, by: "^TestTheBaseOfTokens$",
		}, {
			name: "etcd: a client goes below a base that it has used",
			file: etcdstore + "/base.go", old: "if base > 0 && base >= least {", new: "if base > 0 {",
			in: etcdstore, by: "^TestABaseThatFell$",
		}, {
			name: "etcd: a key stands of which no token can be had",
			file: etcdstore + "/lock.go",
			old:  "kind == store.FaultConflict || kind == store.FaultDefinite", new: "kind == store.FaultDefinite",
			in: etcdstore, by: "^TestABaseThatIsNone$",
		}, {
			name: "etcd: the note of a turn that is over replaces that of the next",
			file: etcdstore + "/note.go", old: "if known.Fence > n.Fence {", new: "if known.Fence > n.Fence+10 {",
			in: etcdstore, by: "^TestNotes$",
		}, {
			name: "etcd: a note takes its key from the lease",
			file: etcdstore + "/note.go", old: ", clientv3.WithIgnoreLease())}", new: ")}",
			in: etcdstore, by: "^TestNotes$",
		}, {
			name: "etcd: the servers' versions are not looked at",
			file: etcdstore + "/site.go", old: "case TooOld(status.Version):", new: "case status.Version == \"\":",
			in: "etcdlock", by: "^TestAServerThatIsTooOld$",
		}, {
			name: "etcd: a server is new enough that renews a lease which it has revoked",
			file: etcdstore + "/site.go", old: "return n[2] < 23", new: "return n[2] < 13",
			in: etcdstore, by: "^TestVersions$",
		}, {
			name: "etcd: a lock waits for the key of a lock below its name",
			file: etcdstore + "/lock.go",
			old:  `strings.TrimPrefix(string(first.Key), l.prefix), "/"`, new: `"", "/"`,
			in: etcdstore, by: "^TestAKeyThatNeverLeaves$",
		}, {
			name: "etcd: a lock waits for a key that never ends",
			file: etcdstore + "/lock.go", old: "case first.Lease == 0:", new: "case first.Lease < 0:",
			in: etcdstore, by: "^TestAKeyThatNeverLeaves$",
		}, {
			name: "etcd: a renewal looks at no key, whatever was written since",
			file: etcdstore + "/session.go", old: "[n].seen >= s.at", new: "[n].seen >= 0",
			in: etcdstore, by: "^TestARenewalWithoutALook$",
		}, {
			name: "etcd: a renewal trusts a server that has gone back",
			file: etcdstore + "/session.go", old: "&& s.at >= latest &&", new: "&& latest >= 0 &&",
			in: etcdstore, by: "^TestARenewalWithoutALook$",
		}, {
			name: "etcd: a renewal trusts a server that may have been replaced",
			file: etcdstore + "/pulse.go",
			old:  "s.looks.sweepDue.Load() { // the stream", new: "s.looks.sweepDue.Load() && at < 0 { // the stream",
			in: etcdstore, by: "^TestARenewalWithoutALook$",
		},
	}...)
}
