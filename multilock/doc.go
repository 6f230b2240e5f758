// Package multilock acquires several locks as one: all of them, or none.
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
// *lock.LostError as the cause, and the other members are released.
//
// # Rules
//
//  1. List each lock once, and at most 1,000 locks. More, or a duplicate, is a *lock.ArgumentError.
//  2. Do not list one name through two clients of the same store: the members exclude each other, and Lock never
//     succeeds.
//  3. The order of the list does not matter. Two callers with opposite orders do not deadlock.
//
// # What is promised, and what is not
//
// A caller holds nothing while it waits, so callers of multilocks cannot deadlock with each other, and a waiter does
// not delay a caller that needs only some of its locks. A caller that holds a lock and then locks a multilock gives up
// that protection, as with any two locks.
//
// Not promised:
//   - An order. A caller that waits for one name may overtake the waiters of the others, and be overtaken.
//   - Progress against fair locks whose queues are never empty. A caller that is first in one queue finds others before
//     it in the second, and gives its turn back.
//   - Turns in memory. A process does not pass a hold on to a multilock, which may lack its other members.
//
// # What it costs
//
// Reentrant locks of one client are acquired by one script in one round trip if their keys fit into one script: all of
// them on a single node, and those of one hash slot on a cluster. Another round trip releases them. Redis runs nothing
// else while a script runs; 1,000 locks take it some milliseconds. All other sets (several slots or nodes, read-write
// locks, fair locks, locks of package redlock) cost a round trip for each member.
//
// # Why nobody deadlocks
//
// A deadlock needs a caller that holds one lock while it waits for another. One script takes all members or none. If
// one is busy, the caller waits in the queue of that one, holding nothing, and tries all again when it may be free.
// Members that one script cannot take are tried one after the other, ordered by name. If one is busy, or its node does
// not answer, the caller releases everything taken so far, waits for that one as it would for a single lock, pauses for
// a random time that grows, and starts again. The order of the names, the same for all callers, makes it likelier that
// two of them meet at the first member, where the loser has nothing to give back.
package multilock
