// Package multilock takes several locks as one: all of them, or none.
//
//	transfer := multilock.New([]*rlock.Lock{
//		rlock.New(client, "account:17"),
//		rlock.New(client, "account:42"),
//	})
//	err := transfer.Do(ctx, func(ctx context.Context) error {
//		return move(ctx, 17, 42, amount) // may lock account:17 again with this ctx
//	})
//
// The context that Lock returns carries the hold of every member: each member can be locked again inside, and its
// method Held returns its own fencing token. If one member is lost, the context ends with that member's
// *rlock.LostError as the cause, and the others are released.
//
// # Why nobody deadlocks
//
// A waiter holds nothing. Reentrant locks of one client whose keys fit into one script (all of them on a single node,
// those of one hash slot on a cluster) are taken by one script in one round trip: either all are held or none is. If
// one is busy, the caller waits in the queue of that one, and tries all again when it may be free. Locks that no
// script can take together (other slots, other nodes, read-write or fair locks, locks of package redlock) are tried
// one after the other, ordered by name. When one is busy, the caller releases everything taken so far, waits for the
// busy one, pauses for a random time that grows, and starts again. Two callers with opposite orders therefore take
// turns, and while they wait, neither delays a third caller that needs only some of their locks.
//
// No order is promised: a caller that waits for one name overtakes the waiters of the others, and can be overtaken.
// Two fair locks whose queues are never empty cannot be taken together: a caller that reaches the head of one queue
// finds others before it in the second, and gives its turn back. A process does not pass a hold to a multilock in
// memory, because the multilock may lack others besides the released one.
//
// # What it costs
//
// One script, in one round trip, takes n free locks, and one releases them. Taking them one after the other needs n
// round trips each way, and holds the first lock while it waits for the last. Redis runs nothing else while a script
// runs: 1,000 locks, the maximum, take it some milliseconds.
package multilock
