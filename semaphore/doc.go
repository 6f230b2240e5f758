// Package semaphore limits how many callers do something at a time, over all processes. It uses Redisson's layout: Go
// and Java processes that use the same name share its permits. There are two kinds.
//
// A [Counting] semaphore is not crash-safe. It is a number without owners: permits that a process took and had not
// given back when it died are gone until somebody adds them again. Its Acquire has the signature of
// golang.org/x/sync/semaphore. Its TryAcquire and Release ask Redis, so they take a context and return an error.
//
// A [Semaphore], the recommended kind, gives permits leases. The watchdog renews them for as long as they are held;
// the permits of a process that died become free by themselves, within a lease.
//
//	printers := semaphore.New(client, "printers") // a client of package rlock
//	err := printers.SetCapacity(ctx, 3)           // absolute: every process may set it
//
//	err = printers.Do(ctx, 1, func(ctx context.Context) error {
//		return print(ctx, document) // ctx ends if the permit is lost
//	})
//
// # What is guaranteed, and what is not
//
// Holders whose permits are live, that is, whose context from [Semaphore.Acquire] has not ended, never have more than
// the capacity together, provided that Redis keeps the keys and clocks run at nearly the same rate. Permits are
// guaranteed as package rlock says of a lock's hold: the context ends before Redis can give the permits to anybody
// else, and permits that Redis itself forgets are lost the same way. Permits have no fencing tokens, because the
// permits of several holders have no order.
//
// Lowering the capacity below the number of held permits takes nothing from a holder. Nobody gets a permit until
// enough were given back, and until then the held permits may exceed the capacity.
//
// Released permits pass to the first waiter of the process, in memory, if it waits for the same number and with a
// lease that is renewed. That waiter gets its own context. Redis sees one continuous hold, and was not asked if such
// a release returns nil. After some milliseconds of such turns, 50 at most, the permits become free for other
// processes, and a capacity that was lowered meanwhile takes effect.
//
// Each permit belongs to one hold in Redis, by an id that is used once. Releasing twice, or after the lease has
// expired, returns an error and frees nothing. A request that is sent again, duplicated or delayed takes effect once.
// A request that creates permits names the server time after which it has no effect. Permits that an abandoned or
// refused call may have taken, or that a copy of its request may still take, are released afterwards.
//
// Inside a process any number of callers ask at the same time, as long as there are permits for all. Callers that
// Redis refused are served first in, first out, before later callers, so requests for few permits do not starve a
// request for many. Once it has its permits, the callers behind it that can proceed ask together, in no order.
// Between processes no order is promised, and a large request can be starved.
//
// If the server's clock steps back, the permits of a holder that crashes before its next renewal are kept for the
// step plus the lease, because a lease ends by that clock. Renewals correct the leases of live holders. A copy that the
// network makes of a request of a [Counting] may count once more after such a step, because the id of the request is
// forgotten by that clock too.
//
// Redis keeps the capacity, or the number of a [Counting], for ever: use Delete for a name that is no longer in use.
// The remembered requests, in one key for each name, expire by themselves.
//
// Java processes on the same name keep Redisson's behaviour: Redisson judges leases by its own clock, so held permits
// stay within the capacity only while the clocks of its clients and of Redis differ by less than the lease.
//
// # Why it adds up
//
// The number of free permits is stored at the name. A sorted set beside it holds each taken permit with the server
// time at which its lease ends. Every script moves permits from one to the other, so both always add up to the
// capacity. A permit whose lease has ended is free; it stays in the set until somebody needs it, and is then moved
// with some hundreds of others. So even a hundred thousand permits left by a crash delay nobody. A renewal revives
// nothing. No script writes before it has read and checked everything it needs.
//
// [Counting] has no place for ids in Redisson's layout. A sorted set beside the number remembers its requests,
// whether they changed something or not, for as long as a copy can arrive; a copy finds its own id and changes
// nothing. An answered request is remembered until its not-after, some seconds; the next request of the same client
// says that it was answered. An Acquire without an answer is remembered for about a minute and a half by default. It
// is longer because an abandoned one is cancelled: the permits it took come back, and a copy that arrives later takes
// nothing.
//
// While a slot of a cluster is being migrated, Redis refuses a script of two keys if one of them is absent at the
// node. Held permits are still renewed, by a script of one key. Acquiring the first permit of an idle semaphore, and
// the calls of a counting one, must wait until the migration is over.
//
// The number alone does not tell a semaphore of one kind from the other kind, or from a latch: use a name for one
// thing. Anything else at the name is rlock.ErrKeyConflict.
package semaphore
