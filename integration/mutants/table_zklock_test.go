package mutants

const zkstore = "zklock/internal/zkstore"

// Mutants of the lock on ZooKeeper.
func init() {
	table = append(table, []mutant{
		{
			name: "zookeeper: a change that a follower passes on renews a session",
			file: zkstore + "/attach.go",
			old:  "\tbegan := n.store.host.Clock.Now()\n\tn.shut(ctx)\n",
			new: "\tbegan := n.store.host.Clock.Now()\n\tif alive(n.conn) {\n" +
				"\t\tif _, err := n.conn.Do(ctx, wire.Agree()); err == nil {\n" +
				"\t\t\tn.mu.Lock()\n\t\t\tn.since = began\n\t\t\tn.mu.Unlock()\n\t\t\t<-n.attaching\n\t\t\tn.again()\n" +
				"\t\t\treturn nil\n\t\t}\n\t}\n\tn.shut(ctx)\n",
			in: "integration/ensemble", by: "^TestARenewalByAFollowerThatDies$", says: "two holders",
		}, {
			name: "zookeeper: numbers of requests begin anew on each connection",
			file: "zklock/internal/wire/attach.go",
			old:  "\traw, err := d.dial(ctx, address)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tstop :=",
			new: "\td.numbers.Store(0)\n\traw, err := d.dial(ctx, address)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n" +
				"\tstop :=",
			in: "zklock/internal/wire", by: "^TestNumbersGoOnOverConnections$",
		}, {
			name: "zookeeper: a client goes on with another session than its own",
			file: "zklock/internal/wire/attach.go",
			old:  "case s.ID != 0 && got.ID != s.ID:", new: "case s.ID != 0 && got.ID == 0:",
			in: "zklock", by: "^TestAServerThatRestoresNoSession$",
		}, {
			name: "zookeeper: a shorter session is taken for the lease",
			file: zkstore + "/reach.go",
			old:  "f.conn.Session.Timeout < s.lease", new: "f.conn.Session.Timeout < 0",
			in: "zklock", by: "^TestAServerThatGrantsLess$",
		}, {
			name: "zookeeper: a node that is nobody's stays",
			file: zkstore + "/attach.go",
			old:  "if len(f.strange) > 0 {", new: "if len(f.strange) < 0 {",
			in: "zklock", by: "^TestANodeThatIsNobodys$",
		}, {
			name: "zookeeper: all nodes of a client hang on one session",
			file: zkstore + "/place.go",
			old:  "n.bytes+costs(prefix) > mostPaths", new: "n.bytes+costs(prefix) < 0",
			in: "zklock", by: "^TestManyHolds$",
		}, {
			name: "zookeeper: a session that nothing proves is attached again",
			file: zkstore + "/keep.go",
			old:  "n.wire.ID != 0 && n.store", new: "n.wire.ID == 0 && n.store",
			in: "zklock", by: "^TestAHolderThatIsCutOff$/^no_answer$",
		}, {
			name: "zookeeper: an acquisition whose node may stand is said to have failed",
			file: zkstore + "/acquire.go",
			old:  `own == "" && !doubt {`, new: `own == "" && (doubt || !doubt) {`,
			in: zkstore, by: "^TestAnErrorBehindARequestWithoutAnAnswer$",
		}, {
			name: "zookeeper: negative numbers come first",
			file: zkstore + "/contender.go",
			old:  "return uint32(a) < uint32(b)", new: "return a < b",
			in: zkstore, by: "^TestSpentNumbersComeLast$",
		}, {
			name: "zookeeper: a number that a server gives to several is the place of one",
			file: zkstore + "/contender.go",
			old:  "number < 0 || number == math.MaxInt32 }", new: "number < 0 && number == math.MaxInt32 }",
			in: "zklock", by: "^TestALockOfWhichNodesCannotBeCountedAnyMore$",
		}, {
			name: "zookeeper: a persistent node in the way is waited for",
			file: zkstore + "/acquire.go",
			old:  "if stat.Owner != 0 && stat.Owner != containerOwner {", new: "if stat.Owner != containerOwner {",
			in: "zklock", by: "^TestANodeThatIsNoLocks$",
		}, {
			name: "zookeeper: the connection that there is makes no room for the next one",
			file: zkstore + "/reach.go",
			old:  "err != nil && alive(old) && n.crowded(err)", new: "err == nil && n.crowded(err)",
			in: "zklock", by: "^TestMaxClientCnxns$",
		}, {
			name: "zookeeper: only a client's first connection says who it is",
			file: zkstore + "/reach.go",
			old:  "reqs := append(wire.Authenticate(s.cfg.Auth), ",
			new:  "auth := s.cfg.Auth\n\tif s.latest() > 0 {\n\t\tauth = nil\n\t}\n\treqs := append(wire.Authenticate(auth), ",
			in:   "zklock", by: "^TestAuthentication$",
		}, {
			name: "zookeeper: a release that cannot be sent again was not carried out at first, either",
			file: zkstore + "/session.go",
			old:  "\t\treturn first\n", new: "\t\treturn err\n",
			in: "zklock", by: "^TestAReleaseThatCannotBeSentAgain$",
		}, {
			name: "zookeeper: a waiter behind any other has its turn when that leaves",
			file: zkstore + "/hub.go",
			old:  "case rankLater:\n\t\tw.rank = rankUnknown\n\tcase rankSecond, rankFirst:",
			new:  "case rankLater, rankSecond, rankFirst:",
			in:   zkstore, by: "^TestTurn$",
		}, {
			name: "zookeeper: a waiter whose own node was deleted has its turn",
			file: zkstore + "/hub.go",
			old:  "case path == l.waiter.own:", new: "case path == \"\":",
			in: zkstore, by: "^TestTurn$",
		}, {
			name: "zookeeper: a base that has changed since gives the token of a turn",
			file: zkstore + "/turn.go",
			old:  "n.base = watchedBase{on: on, changes: n.base.changes + 1}", new: "n.base.changes++",
			in: zkstore, by: "^TestTurn$",
		}, {
			name: "zookeeper: what an earlier connection tells counts on the next",
			file: zkstore + "/hub.go",
			old:  "case deleted && l.waiter.on == on:", new: "case deleted:",
			in: zkstore, by: "^TestTurn$",
		}, {
			name: "zookeeper: a waiter is not woken as its session is attached anew",
			file: zkstore + "/attach.go",
			old:  "s.hub.wakeAll(n) // what", new: "// what",
			in: zkstore, by: "^TestAWaiterIsWoken$",
		}, {
			name: "zookeeper: what is held is watched on its first connection only",
			file: zkstore + "/place.go",
			old:  "\t\t\tp.hold = unwatched\n\t\t}\n\t\tif there", new: "\t\t}\n\t\tif there",
			in: zkstore, by: "^TestWhenANodeIsWatched$",
		}, {
			name: "zookeeper: a note in a holder's node ends the hold",
			file: zkstore + "/held.go",
			old:  "if !deleted || p == nil", new: "if p == nil",
			in: "zklock", by: "^TestAHolderWhoseNodeIsWritten$",
		}, {
			name: "zookeeper: where one server gives a session less time no other is asked",
			file: zkstore + "/reach.go",
			old:  "errors.As(err, &unfit) && !unfit.shorter ||", new: "errors.As(err, &unfit) ||",
			in: "zklock", by: "^TestAServerThatGrantsASessionLess$",
		},
	}...)
}
