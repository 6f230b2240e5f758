package mutants

// Mutants of the pipe, of its bundles of permits, and of the connections that it uses.
func init() {
	table = append(table, []mutant{
		{
			name: "a call that was left is sent all the same",
			file: "internal/redisstore/pipeline/call.go",
			old:  `return c.state.CompareAndSwap(queued, carried)`,
			new:  `return c.state.Swap(carried) >= queued`,
			in:   "internal/redisstore/pipeline", by: "^TestEndLetsThoseLeaveWhoCan$",
		}, {
			name: "the answer of a call that was left is given to nobody, and settles nothing",
			file: "internal/redisstore/pipeline/call.go",
			old:  `case c.state.CompareAndSwap(carried, taken), c.state.CompareAndSwap(sent, taken):`,
			new:  `case c.state.Swap(taken) >= carried:`,
			in:   "internal/redisstore/pipeline", by: "^TestACallIsLeftAndSettles$",
		}, {
			name: "a call that was left is used again",
			file: "internal/redisstore/pipeline/pipe.go",
			old:  "case <-c.done:",
			new:  "case <-c.done:\n\t\t\tdefer func() { c.state.Store(queued); p.spare.Put(c) }()",
			in:   "internal/redisstore/pipeline", by: "^TestTheAnswerToACallThatWasLeftIsNobodyElses$",
		}, {
			name: "what is left on a server that hangs is never settled",
			file: "internal/redisstore/pipeline/call.go",
			old:  `time.AfterFunc(time.Until(limit), func() { settle(context.DeadlineExceeded) })`,
			new:  `time.AfterFunc(time.Until(limit), func() {})`,
			in:   "internal/redisstore/pipeline", by: "^TestWhatIsLeftSettlesAtItsLimit$",
		}, {
			name: "nobody can tell that a call came too late to be sent",
			file: "internal/redisstore/pipeline/call.go",
			old:  "c.state.CompareAndSwap(queued, left):\n\t\treturn store.ErrLate",
			new:  "c.state.CompareAndSwap(queued, left):\n\t\treturn context.DeadlineExceeded",
			in:   "internal/redisstore/pipeline", by: "^TestACallThatNobodyWantsIsNotSent$",
		}, {
			name: "a replica that was asked for the map counts as a primary that was replaced",
			file: "internal/redisstore/links/track.go",
			old:  "if !ts.dialled || t.asked.Load() != 0 {",
			new:  "if !ts.dialled || t.asked.Load() >= 0 {",
			in:   "internal/redisstore/links", by: "^TestAReplicaThatWasAskedForTheMapIsNotLeft$",
		}, {
			name: "a call waits for others though a worker could be started",
			file: "internal/redisstore/pipeline/node.go",
			old:  `case n.alive < workers:`,
			new:  `case n.alive < 1:`,
			in:   "internal/redisstore/pipeline", by: "^TestACallAloneIsSentAtOnce$",
		}, {
			name: "nobody wakes a worker that is parked",
			file: "internal/redisstore/pipeline/node.go",
			old:  "\t\tn.parked.Signal()\n",
			new:  "",
			in:   "internal/redisstore/pipeline", by: "^TestACallAloneIsSentAtOnce$",
		}, {
			name: "an exchange takes as many calls as there are",
			file: "internal/redisstore/pipeline/node.go",
			old:  `len(into) == most || `,
			new:  ``,
			in:   "internal/redisstore/pipeline", by: "^TestWhatGathersSharesAnExchange$",
		}, {
			name: "an exchange takes calls of any length",
			file: "internal/redisstore/pipeline/node.go",
			old:  ` || len(into) > 0 && size+c.size > mostBytes`,
			new:  ``,
			in:   "internal/redisstore/pipeline", by: "^TestAnExchangeHasASize$",
		}, {
			name: "a call without an answer gets what the server told another one",
			file: "internal/redisstore/pipeline/pipe.go",
			old:  `failure == nil || refused {`,
			new:  `failure == nil && refused {`,
			in:   "internal/redisstore/pipeline", by: "^TestACallWithoutAnAnswerIsNotRefused$",
		}, {
			name: "what a set has learned of slots is unknown to the pipe",
			file: "internal/redisstore/pipeline/pipe.go",
			old:  `p.cfg.OneSlot.Load()`,
			new:  `p.cfg.OneSlot == nil`,
			in:   "multilock", by: "^TestAPlainClientBeforeAServerThatEnforcesSlots$",
		}, {
			name: "a greeting uses up the time of the calls that wait for it",
			file: "internal/redisstore/links/within.go",
			old:  "\t\t\tr.extend(by)\n",
			new:  "\t\t\t_ = r\n",
			in:   "internal/redisstore/pipeline", by: "^TestAGreetingDoesNotCount$",
		}, {
			name: "every greeting of an exchange gives it more time",
			file: "internal/redisstore/links/within.go",
			old:  `!d.greeting.Swap(true)`,
			new:  `!d.greeting.Swap(false)`,
			in:   "internal/redisstore/links", by: "^TestAGreetingMovesTheDeadline$",
		}, {
			name: "the workers of nodes that were replaced stay",
			file: "internal/redisstore/pipeline/pipe.go",
			old:  "\t\tp.endGoneLocked()\n",
			new:  "",
			in:   "rlock", by: "^TestAClusterWhoseNodesComeBackUnderOtherAddresses$",
		}, {
			name: "a node that was replaced drops what has gathered",
			file: "internal/redisstore/pipeline/node.go",
			old:  "n.over = true\n",
			new:  "n.over, n.queue = true, nil\n",
			in:   "internal/redisstore/pipeline", by: "^TestWhatGatheredForANodeThatWasReplacedIsSent$",
		}, {
			name: "nodes that serve nothing any more are never told from others",
			file: "internal/redisstore/links/shards.go",
			old:  "\t\t\ts.keys.CompareAndDelete(one, of)\n",
			new:  "",
			in:   "internal/redisstore/links", by: "^TestNodesThatWereReplacedServeNothing$",
		}, {
			name: "what clocks have shown is known for ever",
			file: "internal/serverclock/serverclock.go",
			old:  "c.Serves == nil || c.Serves(node)",
			new:  "c.Serves == nil || true",
			in:   "internal/serverclock", by: "^TestClocksOfNodesThatWereReplacedGo$",
		}, {
			name: "nothing bounds the time of a node that came back",
			file: "internal/serverclock/serverclock.go",
			old:  "if c.gone != nil {",
			new:  "if false {",
			in:   "internal/serverclock", by: "^TestTheLatestTimeOfANodeThatCameBack$",
		}, {
			name: "the outage of a node that was replaced lasts for ever",
			file: "internal/request/outage.go",
			old:  "\t\t\tdelete(o.all, what)\n",
			new:  "\t\t\t_ = what\n",
			in:   "internal/request", by: "^TestTheOutageOfANodeThatWasReplacedIsOver$",
		}, {
			name: "what comes late of a node that was replaced is noted",
			file: "internal/request/outage.go",
			old:  "\tif !o.cfg.Store.Serves(what.node) {\n\t\treturn false\n\t}\n",
			new:  "",
			in:   "internal/request", by: "^TestTheOutageOfANodeThatWasReplacedIsOver$",
		}, {
			name: "a panic in go-redis is an error of one command of a pipeline",
			file: "internal/redisstore/links/guard.go",
			old:  "\t\t\t\tfor _, cmd := range cmds {\n",
			new:  "\t\t\t\tfor _, cmd := range cmds[:0] {\n",
			in:   "internal/redisstore/links", by: "^TestAPanicInGoRedisIsAnError$",
		}, {
			name: "a bundle takes more permits than are free",
			file: "lua/permit_acquire_many.lua",
			old:  `elseif count < number and`,
			new:  `elseif count <= number and`,
			in:   "internal/redisstore/luacall", by: "^TestPermitsInABundle$",
		}, {
			name: "a bundle takes a permit twice for one hold",
			file: "lua/permit_acquire_many.lua",
			old:  ` and not taken[name]`,
			new:  ``,
			in:   "internal/redisstore/luacall", by: "^TestPermitsInABundle$",
		}, {
			name: "a bundle takes permits that come late",
			file: "lua/permit_acquire_many.lua",
			old:  `if now > tonumber(ARGV[3 * i + 1]) then`,
			new:  `if false then`,
			in:   "internal/redisstore/luacall", by: "^TestPermitsInABundle$",
		}, {
			name: "a bundle takes a permit again for a copy of its call",
			file: "lua/permit_acquire_many.lua",
			old:  `elseif stands[i] then`,
			new:  `elseif false then`,
			in:   "internal/redisstore/luacall", by: "^TestPermitsInABundle$",
		}, {
			name: "permits are lost that a bundle may not lease",
			file: "lua/permit_acquire_many.lua",
			old:  `redis.call('INCRBY', permits, count)`,
			new:  `redis.call('GET', permits)`,
			in:   "internal/redisstore/luacall", by: "^TestABundleOfPermitsTakesBackWhatItMayNotEnd$",
		}, {
			name: "a bundle gives back permits whose lease is over",
			file: "lua/permit_release_many.lua",
			old:  ` or tonumber(stands[i]) <= ms then`,
			new:  ` then`,
			in:   "internal/redisstore/luacall", by: "^TestPermitsInABundle$",
		}, {
			name: "permits that a bundle gives back are told to nobody",
			file: "lua/permit_release_many.lua",
			old:  `total = redis.call('INCRBY'`,
			new:  `redis.call('INCRBY'`,
			in:   "internal/redisstore/luacall", by: "^TestPermitsAreTakenAndComeBack$",
		}, {
			name: "permits of several semaphores are taken of the first one",
			file: "internal/redisstore/luacall/bundle.go",
			old:  `return semaphore{args[3], args[4],`,
			new:  `return semaphore{args[1], args[1],`,
			in:   "internal/redisstore/luacall", by: "^TestPermitsOfSeveralSemaphores$",
		},
	}...)
}
