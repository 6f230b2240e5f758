// Package hold is what a process knows of a grant: its validity, who has it, and the one way in which it ends. It sends
// nothing and knows no store. What it needs besides a clock is in [Host].
//
// A [Grant] is what the store gave this process for a name, under one id. A [Hold] is one Lock call that holds: it
// lives on a grant, and has a token and a limit of its own. A [Level] is one Lock that was not unlocked yet, with the
// context that it returned; nested calls make further levels of the same Hold.
//
// To pass a lock on is to end one Hold and to begin another on the same grant. Readers that go together are several
// Holds on one grant. A permit is a grant with a size.
//
// # When a grant is valid
//
// A grant is valid from the moment at which it was read until, by the local clock, the lease that the store confirmed
// last is nearly over: counted from the sending of the request that confirmed it, less a margin for drift. No server
// time and no wall clock enters into that. So whatever happens to replies, the contexts end before the store can give
// the lock to somebody else. Passing on raises no validity, and renewals go on across it.
//
// A Hold whose call has a grace ends that long before the validity of its grant. The grant stays valid: the store
// keeps it, and it is released when the validity is over, so that the work has that time to stop in. Passing on and
// joining are decided by the validity, as ever; a grace is half of a lease at most, so no Hold begins in its grace by
// them.
//
// For example, with a lease of 30 s: a request that is sent at 100.0 s and answered at 100.8 s makes the grant valid
// until 129.688 s (300 ms for drift, 2 ms for the granularity of expiry in Redis, and a tick of 10 ms). The store may
// have carried it out at any time in between, and so keeps the lock until 130.0 s at least.
//
// # How a grant ends
//
//	      Part, Claim        Out           End(Released)
//	stands ------> leaving ------> between -------------> over
//	  |  ^            `- End(Lost), |  | End(Closed) ------^
//	  |  |------- PassToLocked -----'  | IdleLocked        |
//	  |  `------- PassToLocked ------ idle - UnusedLocked -|
//	  `- End(Lost), End(Closed), Export, Part: found lost -'
//
// An unlock is two transitions, and the level's context ends between them, without the mutex. Part is the first: under
// the mutex the validity is compared with the clock, and with its last level the Hold is over. Out takes the level out.
// Several goroutines may unlock levels of one Hold at once, of which each ends a context; the grant goes on with the
// last level that is taken out, and until then it is leaving, where it admits nobody. Then it is between two Holds, and
// the caller that learns of it passes it on (PassToLocked), keeps it for the next caller (IdleLocked), or ends it
// (Released) and releases it in the store. Of several that try a transition, one makes it. The others only end
// the contexts that still live (Left) before they go on to what others rely on. What that one does is the engine's,
// in this order:
//
//	           | contexts end with | in the store                                | observers are told
//	Released   | Released, before  | released                                    | released
//	found lost | the loss          | disowned: it may be there still             | lost, once for each Hold
//	Lost       | the loss          | disowned, but when it said that it is gone  | lost, once for each Hold
//	  later    | Released          | the same                                    | nothing: it lasted to its end
//	Unused     | -                 | released                                    | nothing: nobody has it
//	Closed     | the client's end  | released by Close, or disowned              | the client's end
//	Export     | Released          | stays, and is the importer's                | released
//
// The contexts always end first: no context says that a lock is held which somebody else may have. The levels stay
// after that, since each is still to be unlocked, and its unlock says what became of its Hold.
//
// # The mutex
//
// The mutex of a key guards its grants, their Holds and their levels, with all else that the engine knows of the key.
// So a step of the engine can look at a grant and at the waiters, and decide about both. A method whose name ends in
// Locked is called with it held, and any other takes it. It is taken before those of the watchdog and the wheel, and
// nothing waits while it is held. The context of a level has a mutex of its own, which is never taken under that of the
// key: making or ending a context may call code of the application.
package hold
