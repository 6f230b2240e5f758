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
// The context that Lock returns carries the hold of every member: each can be locked again inside, and
// asked for its own fencing token with its method Held. If one member is lost, the context ends, with that
// one's *rlock.LostError as the cause, and the others are released.
//
// # Why nobody deadlocks
//
// Whoever waits holds nothing. Reentrant locks of one client whose keys can be in one script (all of them on
// a single node, those of one hash slot on a cluster) are taken by one script in one round trip: either
// all names are held or none is. If one is busy, the caller waits in the line of that one, and tries all
// when it may be free. Sets of locks that no script can take together (other slots, other nodes, read-write
// or fair locks, locks of package redlock) are tried one after the other in the order of their names; when
// one is busy, everything taken so far is released, and the caller waits for the busy one before it starts
// again, after a random pause that grows. So two callers with opposite orders take turns, and a third one
// that needs only a part of what both want is held up by neither while they wait.
//
// Nobody is promised an order: a caller that waits for one name passes all who wait for the others, and can
// be passed. Two fair locks whose queues are never empty cannot be taken together: a caller whose turn comes at
// one of them finds others in front of it at the other, and gives its turn back. A hold is never handed to a
// multilock inside a process, since the one that is released may not be the only one it lacks.
//
// # What it costs
//
// One script, in one round trip, takes n locks that are free, and one releases them. A caller that takes them
// one after the other needs n round trips for either, and holds the first while it waits for the last.
// Redis runs nothing else while a script runs: 1,000 locks, which is the maximum, take it some milliseconds.
package multilock
