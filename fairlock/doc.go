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
// The order survives its waiters. One that is killed is passed over, one that gives up leaves no trace,
// wherever it stood, and neither changes the order of the others. One that was stopped for so long that it
// was taken for dead comes back to the place that it had; so does everybody after Redis has stood still, has
// had its clock set, or has lost the queue.
//
// And what is not:
//   - After an expiry (the holder died, or did not reach Redis) a free lock is its finder's. A fair waiter
//     that finds it gives it to the first in the queue; a rlock.Lock or Java keeps it.
//   - Others who use the name without standing in the queue (rlock.Lock, RLock, and RFairLock, which has a
//     queue of its own) contend with the queue as a whole. So that they get their chance, the lock goes
//     from one fair waiter to the next for a second at most; then, if anybody else listens for it, it is free
//     for a twentieth of a second, in which nobody in the queue takes it.
//   - A waiter that does not answer an invitation in time loses its turn, not its place. In time is
//     ClientOptions.MaxPoll and a second (three seconds at most): a process that is further away
//     from Redis, or that stands still for longer, is passed over until it answers.
//   - While a slot of a cluster is being moved there is a lock and no order.
//   - Fair and plain locks of one name in one process do not re-enter one another; a fair one that finds a
//     plain hold in its context is refused with an *rlock.ArgumentError, for it would wait for itself.
//
// A fair lock costs more than a plain one where it is contended: each turn is two round trips and a message,
// where rlock passes a hold inside a process in one. Where nobody waits, the two cost nearly the same.
//
// # Why it is safe
//
// A waiter believes in nothing but the answer of the script that claims the lock. The message that wakes it
// is a hint, and what the releasing script wrote for it is an invitation: the lock's hash names the
// waiter, for a short time, with a count that no hold has. The claim finds its own id there, or that of
// another waiter of its process; it sets the full lease, mints the token, and the waiter believes from
// the sending of that claim on, as it does for every lock. If the invitation has run out, the claim finds
// somebody else or nobody, and the message may come as late as it likes.
//
// What is in the queue decides who is invited, never who holds. So whatever happens to it (a key of it
// deleted, data lost, a copy of a request that comes late), the worst is that a turn is given in another
// order, or to one that does not come and so for no longer than an invitation stands.
//
// # Who is alive
//
// A waiter is not judged by itself: its client is. The foremost waiter of a process asks Redis every
// MaxPoll, and with that keeps all its process's waiters alive; so ten thousand waiters in ten
// processes cost ten questions per poll. A client that is not heard of for four polls (two seconds at least)
// is taken for dead. Time is the server's, and of the time between two questions only so much counts as one
// poll takes: while the server stands still nobody dies.
//
// A client that is taken for dead, or did not come when it was invited, learns of it with its next
// question, and registers its waiters again with the tickets that they had.
//
// # In Redis
//
// The hash at the name, and the fencing token where Redisson's fenced lock keeps it. While anybody waits:
// holdfast_fair_queue:{name}, a sorted set of waiters by ticket, which is the server's time of arrival in
// µs; holdfast_fair_alive:{name}, a sorted set of clients; holdfast_fair_state:{name}, a hash with the
// queue's clock, the last invitation, and how long the run of invitations is. They are gone when nobody
// waits, and expire in any case. A client listens on holdfast_fair:{name}:<client>, so that an invitation
// wakes one process; and on Redisson's channel while somebody holds the lock who would tell it there alone. Every
// operation is O(log n) in the number of waiters; the dead are buried a thousand at a time.
package fairlock
