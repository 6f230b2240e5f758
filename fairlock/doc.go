// Package fairlock is a distributed lock on Redis that is given out in the order in which it was asked for,
// across processes.
//
//	lock := fairlock.New(client, "tickets:gate-7") // client: a *rlock.Client, one per process
//
//	err = lock.Do(ctx, func(ctx context.Context) error { return sell(ctx) })
//
// It is a *rlock.Lock, and what package rlock says about holds, contexts, leases, loss and errors holds for
// it. Mutual exclusion is that of the reentrant lock, on the same hash: while one of them holds a name, nobody
// else has it, whichever kind of lock it uses and whether it is written in Go or in Java. What is added is a
// queue.
//
// # What is promised
//
// Strict order: while the lock is released, and not lost, it goes to the waiter that came first, where
// coming means being registered in Redis, in one process in the order of the calls. Nobody comes in between a
// release and the next in the queue, for the script that releases also says whose it is. TryLock does
// not overtake either: if anybody waits it is refused.
//
// Waiters of one process that stand next to one another in the queue pass the lock on in memory, in their order in
// the queue. A waiter of another process that stands between two of them has its turn between theirs.
//
// The order survives its waiters. One that is killed is passed over, one that gives up leaves no trace,
// wherever it stood, and neither changes the order of the others. One that was stopped for so long that it
// was taken for dead comes back to the place that it had; so does everybody after Redis has stood still, has
// had its clock set, or has lost the queue.
//
// Not promised:
//   - After an expiry (the holder died, or did not reach Redis) whoever finds the lock free first decides. A fair
//     waiter gives it to the first in the queue; a rlock.Lock or Java keeps it.
//   - Others that use the name without standing in the queue (rlock.Lock, RLock, and RFairLock, which has a
//     queue of its own) contend with the queue as a whole. So that they get their chance, the lock goes
//     from one fair waiter to the next for a second at most; then, if anybody else listens for it, it is free
//     for a twentieth of a second, in which nobody in the queue takes it.
//   - A waiter that does not answer an invitation in time loses its turn, not its place. In time is
//     ClientOptions.MaxPoll and a second (three seconds at most): a process that is further away
//     from Redis, or that stands still for longer, is passed over until it answers.
//   - A waiter that was taken for dead and comes back to its earlier place may have to wait until a process that is
//     passing the lock on in memory stops: within 50 ms, and the end of the turn that was begun by then.
//   - The place of a waiter that gives up before its registration is answered may stand for a moment longer, and its
//     turn be that of a later waiter of the same process.
//   - While a slot of a cluster is being moved there is a lock and no order.
//   - Fair and plain locks of one name in one process do not re-enter one another; a fair one that finds a
//     plain hold in its context is refused with an *rlock.ArgumentError, for it would wait for itself.
//
// # What a turn costs
//
// A waiter is registered in Redis before it can have a turn; one request registers up to a hundred. A turn that is
// passed on in memory costs nothing else: of Redis's time about 2.5 µs, for a place that is made and taken away, and
// as much again for each request that makes some. So how many turns there are is bounded by how soon those that had
// theirs are registered again. If all waiters of a process are being registered, unlock waits for the answer, so
// that what is left of a round trip passes between two turns. A turn that goes to another process costs two round trips
// and a message. Where nobody waits, a fair lock costs nearly the same as a plain one.
//
// # Rules of passing in memory
//
//  1. The lock passes only to the first waiter of the process, and only if its ticket is not above the one that Redis
//     named last: up to that ticket, everybody in Redis's queue was a waiter of this process. The scripts that claim
//     the lock and that register waiters name it, and name none while a client was taken for dead a moment ago.
//  2. That answer is not older than 50 ms, and what bounds a run of turns of package rlock bounds this one.
//  3. No request with the waiter's id is under way, or without an answer, that could give it a place; nor may its
//     place be another one than it was told, or gone.
//  4. The rest is as in package rlock: the hold's lease is more than half left and its last renewal did not fail, a
//     fencing token is left, the next waiter wants the same lease, no level is unsettled, and neither MaxHold nor
//     FixedLease applies. Otherwise the lock is released, and the next claims it.
//  5. Those that were served keep their places until the release that ends the run, which names them all and takes them
//     away before it looks for the next. After a loss, an export, or a release without an answer this is done in the
//     background; and during a turn that lasts for more than 50 ms, so that Inspect shows no waiter that was served.
//  6. While its process holds the lock, the first waiter goes on asking every MaxPoll. A waiter that asked, was
//     refused, and was then served in memory has its id released once more when no copy of that question can come.
//  7. A registration brings its client to life. If the client was not alive, or if there is no answer, all waiters of
//     the process that have places are registered again, with the tickets that they had.
//  8. If the first waiter is only now being registered, or about to be, unlock waits for the answer, and then applies
//     rules 1 to 4. It waits for two round trips at most, or a millisecond where that is more, and only while the run
//     may go on. If the answer does not come in time, or names another process first, the lock is released.
//
// # Why it is safe
//
// A waiter relies on nothing but the answer of the script that claims the lock, or on a hold that its process
// has and that the caller before it is done with. The message that wakes it
// is a hint, and what the releasing script wrote for it is an invitation: the lock's hash names the
// waiter, for a short time, with a count that no hold has. The claim finds its own id there, or that of
// another waiter of its process; it sets the full lease, mints the token, and the hold is valid from
// the sending of that claim on, as it does for every lock. If the invitation has run out, the claim finds
// somebody else or nobody, and the message may come as late as it likes.
//
// What is in the queue decides who is invited, never who holds. So whatever happens to it (a key of it
// deleted, data lost, a copy of a request that comes late), the worst is that a turn is given in another
// order, or to one that does not come and so for no longer than an invitation stands.
//
// # Why the order is kept
//
// A new ticket is above every ticket in the queue. So if at one instant nobody else stands below some ticket, nobody
// ever will, except a waiter that comes back to a place that it had: rule 1 stays true however late its answer is
// read, and rule 2 bounds what a waiter that comes back may suffer. Inside a process, waiters are registered in the
// order of their calls, and the first of them is the only one that is served; so the order in memory is that of the
// tickets. Where the two may differ, because another waiter of the process was invited than the one that came, or a
// registration failed, rule 3 has the waiters ask Redis, or be registered again, before they are served in memory.
//
// While unlock waits by rule 8, the caller before is done and no context says that the lock is held, as while a release
// is under way; what bounds the run is looked at before and after. So others wait for the lock no longer than a run
// takes, and two round trips for a registration that is lost.
//
// A place must neither outlive its waiter nor be missing while the waiter waits. Rule 3 has nobody served while a
// request may still give it a place, and rules 5 and 6 take away what was given before. As to the second: a place is
// kept by its client's life, which the first waiter's questions prolong, and each registration. A registration cannot
// rely on earlier ones: those whose places kept the client alive may all have been served before it is carried
// out, and the queue be gone. Without rule 7 its waiter would stand there as one that is dead, be removed by the next
// that comes, and then wait for a queue that seems lost to come back. Redis says once that a client had lapsed, to the
// request that brings it to life again; if that answer is lost, nobody knows whether it said so. So a lost answer
// counts as one that did, also of a question.
//
// # Who is alive
//
// A waiter is not judged by itself: its client is. The foremost waiter of a process asks Redis every
// MaxPoll, also while its own process holds the lock, and with that keeps all its process's waiters alive; so ten
// thousand waiters in ten processes cost ten questions per poll. A client that is not heard of for four polls (two
// seconds at least) is taken for dead. Time is the server's, and of the time between two questions only so much
// counts as one poll takes: while the server stands still nobody dies.
//
// A client that is taken for dead, or did not come when it was invited, learns of it with its next
// question or registration, and registers its waiters again with the tickets that they had.
//
// # In Redis
//
// The hash at the name, and the fencing token where Redisson's fenced lock keeps it. While anybody waits:
// holdfast_fair_queue:{name}, a sorted set of waiters by ticket, which is the server's time of arrival in
// µs; holdfast_fair_alive:{name}, a sorted set of clients; holdfast_fair_state:{name}, a hash with the
// queue's clock, the last invitation, how long the run of invitations is, and when a client was taken for dead.
// They are gone when nobody waits, and expire in any case. A client listens on holdfast_fair:{name}:<client>, so that
// an invitation wakes one process; and on Redisson's channel while somebody holds the lock who would tell it there
// alone. Every operation is O(log n) in the number of waiters; the dead are buried a thousand at a time.
package fairlock
