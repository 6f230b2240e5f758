// Package hold is what a process knows of a grant while somebody has it: its validity, its levels, and the one way in
// which it ends. It sends nothing and knows no store. What it needs besides a clock is in [Host].
//
// A grant is what Redis gave this process for a name. A [Hold] is one turn of it. A [Level] is one Lock call that was
// not unlocked yet, and the context which that call returned; nested calls make further levels of the same hold, and
// readers of one process may have levels of one hold together (readers.go).
//
// # When a hold is valid
//
// A hold is valid from the moment at which its grant was read until, by the local clock, the lease that Redis confirmed
// last is nearly over: counted from the sending of the request that confirmed it, less a margin for drift. No server
// time and no wall clock enters into that. So whatever happens to replies, the contexts end before Redis can give the
// lock to somebody else.
//
// For example, with a lease of 30 s: a request that is sent at 100.0 s and answered at 100.8 s makes the hold valid
// until 129.688 s (300 ms for drift, 2 ms for the granularity of expiry in Redis, and a tick of 10 ms). Redis may have
// carried it out at any time in between, and so keeps the lock until 130.0 s at least.
//
// # How a hold ends
//
//	          Part: the last level          End(Unlocked), and it is passed on or released
//	live ----------------------> ending -----------------------------------------------> over
//	  |                             `------- End(FoundLost) ------------------------------^
//	  `--------- End(Lost), End(Closed), Export ------------------------------------------^
//
// End is called by whoever brings the end about. It decides, under the hold's mutex, who that is; a second caller gets
// false and does nothing. What the winner then does is the engine's, in this order:
//
//	           | contexts end with | in Redis                                       | observers are told
//	Unlocked   | Released          | passed on, or released                         | released
//	FoundLost  | the loss          | reclaimed: it may be there still               | lost; the last unlock: released
//	Lost       | the loss          | reclaimed, but when Redis said that it is gone | lost, once for each reader
//	Closed     | the client's end  | released by Close, or reclaimed                | nothing
//	Export     | Released          | stays, and is the importer's                   | released
//
// The contexts always end first: no context says that a lock is held which somebody else may have. The levels stay
// after that, since each is still to be unlocked, and its unlock says what became of the hold.
//
// # The mutex
//
// A hold has one mutex. What a method's name ends in Locked is called with it held. It is taken before those of the
// watchdog and the wheel and after that of the engine's table, which holds it where one hold passes to the next,
// and nothing waits while it is held.
package hold
