// Package holdfasttest tests code that uses the locks of this module: without a server, without a sleep, and with every
// fault that such code has to survive at the test's command.
//
//	func TestTheJobStopsWhenItsLockIsLost(t *testing.T) {
//		lab := holdfasttest.New(t)
//		client := lab.Client(nil)
//		done := make(chan error)
//		go func() { done <- nightly.Run(context.Background(), client) }() // takes the lock "nightly"
//		lab.Lose("nightly", rlock.LossGone)                               // as soon as a caller has it
//		if err := <-done; !errors.Is(err, rlock.ErrLost) {
//			t.Fatalf("the job went on: %v", err)
//		}
//	}
//
// # Rules
//
//  1. Give the code under test the client of [Lab.Client]. It is an *rlock.Client like any other: what takes one is
//     tested unchanged, with locks of packages rlock, rwlock, fairlock, semaphore, latch and multilock. A redlock is on
//     servers of its own and not in the lab.
//  2. Each client is a process of its own. Make two to test what happens between two processes.
//  3. Unlock what is locked before the test ends, or it fails: "an unlock was forgotten", with the names. A client that
//     the code under test closes by itself reports it in the error of its Close instead.
//  4. Test times in a bubble of [testing/synctest], where timers, deadlines and locks have one clock. Make the lab
//     inside the bubble. Outside of one, [Lab.Advance] moves the clock of the locks alone.
//  5. Call the lab's methods from the test's goroutine: most end the test when they are misused.
//
// # What can be made to happen
//
//	lab.HoldElsewhere(name)   another process holds it, until release
//	lab.Lose(name, reason)    its holder in the test loses it, now
//	lab.Freeze(), lab.Thaw()  the store answers no client; after Thaw it reads what was sent meanwhile
//	lab.Drop(n)               the next n replies are lost, after their effect
//	lab.Advance(d)            time passes: leases end or are renewed, limits are reached
//
// The client's Observer tells when a call waits; in a bubble synctest.Wait waits for that.
//
// # What it is
//
// The clients are the module's own: waiting, passing, renewing and losing are the code that runs in production, and
// only the store differs. It keeps in memory what Redis keeps, and the suite of [Conformance] holds both to one
// contract. Requests are carried out at once, and messages arrive at once. Errors and log lines call it "the store in
// memory", where those of a client of Redis say "Redis". What the lab does not show is what Redis does with its own
// memory: evictions, replicas, failovers, the layout of keys, clients of other languages. Unlike Redis it lets locks of
// different kinds share a name, and reports no ErrKeyConflict.
//
// # Locks of one's own
//
// If you write a lock, or wrap one, have [Conformance] check it against the contract that all locks of this module
// keep. The package links no module that the locks do not. It does link go-redis, though it never connects: the code
// under test has an *rlock.Client, and so links it anyway.
package holdfasttest
