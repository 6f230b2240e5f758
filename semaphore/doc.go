// Package semaphore limits how many may do something at a time, over all processes, in Redisson's
// layout: Go and Java processes that use one name share its permits. There are two kinds.
//
// A [Counting] semaphore is not crash-safe: it is a number, nobody owns what was taken of it, and what
// a process took and did not give back before it died is gone until somebody adds it again. Its Acquire has
// the signature of that of golang.org/x/sync/semaphore. TryAcquire and Release have not: they ask Redis, so
// they take a context and return an error.
//
// A [Semaphore], the one to use, gives permits leases. The watchdog renews them for as long as they are
// held; those of a process that died come back by themselves, within a lease.
//
//	printers := semaphore.New(client, "printers") // a client of package rlock
//	err := printers.SetCapacity(ctx, 3)           // an absolute number: every process may say it
//
//	err = printers.Do(ctx, 1, func(ctx context.Context) error {
//		return print(ctx, document) // ctx ends if the permit is lost
//	})
//
// # What is guaranteed, and what is not
//
// Those who believe in their permits, which is to say that the context that [Semaphore.Acquire] returned
// is alive, never have more than the capacity together, as long as Redis keeps the keys and clocks run
// at nearly one rate. What package rlock says of a lock's hold holds of theirs: the context ends before
// Redis can give the permits to anybody else, and how it is lost when Redis itself forgets. Permits have
// no fencing tokens: those of several holders have no order.
//
// A capacity that is set below what is held takes nothing from anybody; nobody gets any until enough came
// back, and what was held before may exceed it until then.
//
// Permits that come back pass to the first in line of the process, in memory, if it waits for as many and with a
// lease that is renewed. It has a context of its own; Redis sees one hold, and was not asked by a nil from such a
// release. After some milliseconds, 50 at most, of such turns the permits become free for other processes, and
// a capacity that was lowered meanwhile counts.
//
// Each permit belongs to one hold in Redis, by an id that is used once. To release twice, or when the lease is
// over, is an error and gives nothing back. A request that is sent again, doubled or delayed takes
// effect once; what creates permits says until when, in the server's time, it may be carried out; and
// what a call that was given up or refused may have taken, or a copy of its request may take, is released
// behind it.
//
// Inside a process any number of callers ask at a time, as long as there are permits for all. Those whom
// Redis refused get their turn first in, first out, before those who come later, so a request for many is not
// starved by requests for few. Those behind it who can go on when it has its permits ask together, in no
// order. Among processes no order is promised, and there a large request can be starved.
//
// If the server's clock steps back, permits of a holder that crashes before its next renewal are kept for
// the step and the lease: a lease ends by that clock. The renewals of those who live put theirs right.
//
// Redis keeps the capacity, or the number of a [Counting], for ever: Delete takes away a name that nobody
// uses any more. What it remembers of requests, in one key for each name, it forgets by itself.
//
// With Java processes on one name Redisson's part is Redisson's: it judges leases by its own clock, so
// held permits stay within the capacity only while the clocks of its clients and of Redis differ by less
// than the lease.
//
// # Why it adds up
//
// At the name stands how many permits are free; in a sorted set beside it, each permit that is taken,
// with the time, by the server's clock, at which its lease ends. Every script moves permits from the one
// to the other, so that both always add up to the capacity. A permit whose time has come is free; it
// stays in the set until somebody needs it, and then some hundreds are moved at a time, so that what a
// crash leaves behind, be it a hundred thousand permits, delays nobody. A renewal revives nothing. No
// script writes before it has read and checked all it needs.
//
// [Counting] has no place for ids in Redisson's layout. A sorted set beside the number remembers its
// requests, whether they changed something or not, for as long as a copy of one can come; a copy finds it
// and changes nothing. That is until the request's not-after, some seconds, for what was answered, which
// the next request of the same client tells; for an Acquire without an answer it is about a minute and a
// half, by default, because one that is given up is cancelled: what it took comes back, and a copy that
// comes later takes nothing.
//
// While a slot of a cluster is being moved, Redis refuses scripts that touch two keys of it of which one
// is absent at the node. Permits that are held are renewed all the same, by a script of one key; to acquire the
// first one of an idle semaphore, and the calls of a counting one, have to wait until that is over.
//
// A semaphore of one kind cannot be told from one of the other, or from a latch, by the number alone: use
// a name for one thing. Everything else that may stand there is rlock.ErrKeyConflict.
package semaphore
