// Package fairlock is a distributed lock on Redis that is granted in the order in which callers asked for it, across
// processes.
//
//	lock := fairlock.New(client, "tickets:gate-7") // client: a *rlock.Client, one per process
//
//	err = lock.Do(ctx, func(ctx context.Context) error { return sell(ctx) })
//
// It is a *rlock.Lock. What package rlock says about holds, contexts, leases, loss and errors applies to it. It uses
// the same hash as the reentrant lock, so at any time a name has one holder, whichever kind of lock it uses, in Go or
// in Java.
//
// # Rules
//
//  1. Use fair locks for a name everywhere. Other locks on it (rlock.Lock, Redisson's RLock, and RFairLock, which has a
//     queue of its own) exclude fair ones, but do not queue with them.
//  2. Fair and plain locks of one name do not re-enter each other. A fair lock that finds a plain hold of its name in
//     its context returns an *rlock.ArgumentError, because it would wait for itself.
//  3. TryLock does not overtake: it returns rlock.ErrBusy while anybody waits.
//
// Do not use an RFairLock of Redisson for a name that has fair locks of this package. Each side has a queue of its own,
// and an unlock in Java wakes the next thread of Java's queue only. A waiter in Go asks again after
// ClientOptions.MaxPoll, and mostly finds the lock taken again: as long as threads in Java queue, it gets in by luck.
//
// # What is promised, and what is not
//
// Strict order: as long as the lock is released, and not lost, it goes to the waiter that asked first. A waiter has
// asked when it is registered in Redis; one process registers its callers in the order of their calls. The script that
// releases the lock also names the next holder, so nobody can get in between.
//
// Neighbours in the queue that belong to one process pass the lock on in memory, in their order. A waiter of another
// process between them has its turn between theirs.
//
// The order survives its waiters. A waiter that is killed is skipped, and the place of one that gives up is taken away;
// neither changes the order of the others. A waiter that was suspended for so long that its client was taken for dead
// returns to its old place. So do all waiters after Redis was down, had its clock set, or lost the queue.
//
// Not promised:
//   - Order after an expiry. If the holder died, or did not reach Redis, the client that first finds the lock free
//     decides: a fair waiter gives it to the first in the queue that is not of the holder's process, unless that
//     process asks itself; an rlock.Lock or Java keeps it.
//   - Order against locks that do not queue. They contend with the queue as a whole. So that they get a chance, the
//     lock passes from fair waiter to fair waiter for a second at most. Then, if anybody else listens for it, it is
//     free for a twentieth of a second, during which no fair waiter takes it.
//   - A turn for a waiter that does not answer its invitation in time (ClientOptions.MaxPoll and a second, three
//     seconds at most). It loses its turn, but not its place: a process that is further away from Redis, or suspended
//     for longer, is skipped until it answers.
//   - An immediate turn for a waiter that returns to its old place. It may have to wait until a process that is passing
//     the lock on in memory stops: 50 ms, and the turn that was begun by then.
//   - That nothing is left of a waiter in the moment in which its Lock returns. When its context or MaxWait ends, a
//     Lock has its place taken away and waits for that for 10 ms at most. The place can stand for longer if Redis takes
//     longer to answer, or if a request of the waiter was under way. Until then it can still be given the turn, and a
//     TryLock of another process returns ErrBusy, though nobody holds the lock or waits. The place, and the turn of a
//     waiter that gives up after it was invited and before it asked for the lock, may also go to a later waiter of the
//     same process, though one of another process came between them.
//   - Order while a slot of a cluster is being migrated. Mutual exclusion holds then too.
//
// # What it costs
//
// If nobody waits, a fair lock costs nearly the same as a plain one. A turn that goes to another process costs a
// message and a round trip: the release invites the next waiter by the message, and that one claims the lock. A turn
// that is passed on in memory costs only the waiter's registration, about 2.5 µs of Redis's time, and as much again for
// each request; one request registers up to 100 waiters. So the number of turns is bounded by how soon callers that had
// theirs are registered again. If all waiters of a process are still being registered, the lock is released.
//
// A process with waiters sends one question per ClientOptions.MaxPoll, however many waiters it has. Every operation in
// Redis is O(log n) in the number of waiters.
//
// # Why it is safe
//
// A waiter holds the lock only by the answer of the script that claims it, or by a hold of its own process that the
// caller before it has finished with. What the releasing script writes is an invitation: for a short time the lock's
// hash names the waiter, with a count that no hold has. The claim finds its own id there, or that of another waiter of
// its process. It then sets the full lease and mints the token, and the hold is valid from the sending of that claim,
// as for every lock. If the invitation has run out, the claim finds another client invited, or none.
//
// The message that wakes a waiter is a hint. It goes to the client that is invited, and has it ask. One that is late or
// doubled has it ask in vain, one that is forged too, and for one that is lost the waiter asks within MaxPoll.
//
// The queue decides who is invited, never who holds. So whatever happens to it (a key deleted, data lost, a late copy
// of a request), the worst case is a turn out of order, or an invitation to a waiter that does not come, which ends by
// itself.
//
// # Who is alive
//
// Redis judges clients, not single waiters. The first waiter of a process asks Redis every MaxPoll, also while its own
// process holds the lock, and that keeps all waiters of the process alive: ten thousand waiters in ten processes send
// ten questions per poll. A client that sends nothing for four polls (two seconds at least) is taken for dead. Time is
// the server's, and between two questions at most one poll counts, so nobody is taken for dead while the server is
// down. Example: MaxPoll is 1 s, and other clients ask every second. A client that has not asked for 4 s is dead. If
// the server was stopped for a minute of them, that minute counts as 1 s, and the client is alive.
//
// Two things are signs of death before that: an invitation that was not answered, and a lease that ran out. A waiter
// that asks next passes over that client, so the death of a process costs the others its lease and a poll, and not an
// invitation to another of its waiters.
//
// A client that was taken for dead learns of it with its next question or registration, and registers its waiters again
// with their old tickets.
//
// # Rules of passing in memory
//
//  1. The lock passes only to the first waiter of the process, and only if its ticket is not above the one that Redis
//     named last: up to that ticket, every waiter in Redis's queue belonged to this process. The scripts that claim the
//     lock and that register waiters name this ticket. They name none while a client was taken for dead a moment ago.
//     Example: the queue is 5 and 6 of this process, 7 of another, 8 of this one. Redis names 6. So 5 and 6 have their
//     turns in memory, and 8 does not, because 7 is before it.
//  2. That answer is at most 50 ms old, and the limits of a run of turns in package rlock apply.
//  3. No request with the waiter's id that could give it a place is under way or unanswered, and its place is the one
//     that it was told, and still exists.
//  4. As in package rlock: more than half of the lease is left and the last renewal did not fail, a fencing token is
//     left, the next waiter wants the same lease, the count of levels is settled, and neither MaxHold nor FixedLease
//     applies. Otherwise the lock is released, and the next waiter claims it.
//  5. Waiters that were served keep their places until the release that ends the run. It names them all, and removes
//     their places before it looks for the next waiter. If the hold was gone and one of these places was invited, the
//     next waiter gets that turn. After a loss, an export, or a release without an answer this is done in the
//     background; and during a turn of more than 50 ms, so that Inspect shows no waiter that was served.
//  6. While its process holds the lock, the first waiter still asks every MaxPoll. A waiter that asked, was refused,
//     and was then served in memory has its id released once more when no copy of that question can arrive.
//  7. A registration revives its client. If the client was not alive, or if there is no answer, all waiters of the
//     process that have places are registered again, with their old tickets.
//
// # Why the order is kept
//
// A new ticket is above every ticket in the queue. So if at one instant no other process has a waiter below some
// ticket, none ever will, except a waiter that returns to its old place. Rule 1 therefore stays true however late its
// answer is read, and rule 2 bounds how long a returning waiter may have to wait. Inside a process, waiters are
// registered in the order of their calls, and only the first is served, so the order in memory is that of the tickets.
// The two can differ if another waiter of the process was invited than the one that claimed, or if a registration
// failed. In that case rule 3 makes the waiters ask Redis, or be registered again, before they are served in memory.
//
// A place must not outlive its waiter, and must not be missing while the waiter waits. For the first, rule 3 serves
// nobody while a request may still create a place, and rules 5 and 6 remove what was created before. For the second, a
// place exists as long as its client is alive, and the first waiter's questions and each registration keep the client
// alive. A registration cannot rely on earlier ones: the waiters whose places kept the client alive may all have been
// served before it is carried out, and the queue may be gone. Without rule 7 its waiter would be registered as one of a
// dead client, be removed by the next arrival, and then wait for a queue that seems lost. Redis reports once that a
// client had lapsed, to the request that revives it. If that answer is lost, nobody knows what it said, so a lost
// answer to a registration or a question counts as such a report.
//
// # In Redis
//
// The hash at the name, and the fencing token where Redisson's fenced lock keeps it. While anybody waits:
// holdfast_fair_queue:{name}, a sorted set of waiters by ticket, which is the server's time of arrival in µs;
// holdfast_fair_alive:{name}, a sorted set of clients; holdfast_fair_state:{name}, a hash with the queue's clock, the
// last invitation, the length of the run of invitations, when a client was taken for dead, and who had the lock before
// there was a queue. They are removed when
// nobody waits, and expire in any case. A client listens on holdfast_fair:{name}:<client>, so that an invitation wakes
// one process, and on Redisson's channel while a holder that publishes only there has the lock. Waiters of dead clients
// are removed a thousand at a time.
package fairlock
