// Package semaphore limits how many callers do something at the same time, over all processes. It uses Redisson's
// layout, so Go and Java processes that use the same name share its permits.
//
//	printers := semaphore.New(client, "printers") // client: a *rlock.Client, one per process
//	err := printers.SetCapacity(ctx, 3)           // absolute: every process may set it
//	// or SetCapacityIfAbsent, which leaves what an operator changed by AddCapacity since
//
//	err = printers.Do(ctx, 1, func(ctx context.Context) error {
//		return print(ctx, document) // ctx ends if the permit is lost
//	})
//
// There are two kinds:
//   - A [Semaphore], the recommended kind, gives permits leases. The watchdog renews them while they are held. The
//     permits of a process that died become free within a lease.
//   - A [Counting] semaphore is a number without owners, and not crash-safe: permits that a process took and did not
//     give back are gone until a caller adds them again. Its Acquire has the signature of golang.org/x/sync/semaphore.
//     TryAcquire and Release ask Redis, so they take a context and return an error.
//
// # Rules
//
//  1. Set a capacity. Until then there are no permits: Acquire waits, and TryAcquire returns [ErrNoCapacity]. Redis may
//     lose it with its data: a handle with the option [Capacity] sets it again.
//  2. Work with the context that Acquire returned, as with a lock: it ends if the permits are lost. Unlike a lock,
//     permits are never re-entered. Calling Acquire while holding permits can deadlock.
//  3. Release exactly once. Releasing twice, or after the lease has expired, returns an error and frees nothing.
//  4. Use a name for one thing. A semaphore of one kind, one of the other kind, and a latch cannot be distinguished,
//     because each is a number. Anything else at the name is rlock.ErrKeyConflict.
//  5. Use Delete for a name that is no longer in use: Redis keeps the capacity, or the number of a [Counting], for
//     ever. Or use the option [ExpireUnused], which has a [Semaphore] expire some time after its last use.
//
// # What is promised, and what is not
//
// Holders whose context has not ended never have more permits than the capacity together, provided that Redis keeps the
// keys and clocks run at nearly the same rate. Permits are as safe as a lock's hold in package rlock: the context ends
// before Redis can give the permits to anybody else, and permits that Redis itself forgets are lost the same way.
//
// Lowering the capacity below the number of held permits takes nothing from a holder. Nobody gets a permit until enough
// are given back. Example: 5 permits are held and the capacity becomes 3. The next permit is free when 3 were released.
// A change of the capacity is told to waiters by a message. A waiter that asks for more than there are now gets a
// [CapacityError] at once, or goes on waiting for a greater capacity with [WaitForCapacity].
//
// A request that is sent again, duplicated or delayed takes effect once. Permits that an abandoned or refused call may
// have taken are released afterwards.
//
// Inside a process, callers that Redis refused are served first in, first out, before later callers. So requests for
// few permits do not starve a request for many.
//
// Not promised:
//   - Fencing tokens. The permits of several holders have no order.
//   - An order between processes. A large request can be starved by small ones of other processes.
//   - A bound after the server's clock was set back. The permits of a holder that crashes before its next renewal are
//     then kept for the step plus the lease. A copy that the network makes of a request of a [Counting] may count once
//     more, because the id of the request is forgotten by that clock too.
//   - The capacity, if Java processes use the same name and their clocks differ from Redis's by the lease or more:
//     Redisson judges leases by its own clock.
//
// # What it costs
//
// Acquire and release take one request each. Any number of callers of a process ask at the same time while there are
// permits for all. Released permits pass to the first waiter of the process in memory, if it wants the same number and
// a lease that is renewed. That waiter gets its own context. Redis sees one continuous hold, and was not asked if such
// a release returns nil. After at most 50 ms of such turns the permits become free for other processes, and a lowered
// capacity takes effect.
//
// # Why it is safe
//
// The number of free permits is stored at the name. A sorted set beside it holds each taken permit with the server time
// at which its lease ends. Every script moves permits from one to the other, so both always add up to the capacity. A
// permit whose lease has ended is free; it stays in the set until a caller needs it, and is then moved with some
// hundreds of others. So even a hundred thousand permits left by a crash delay nobody. A renewal revives nothing. No
// script writes before it has read and checked everything it needs.
//
// Each permit belongs to one hold, by an id that is used once, and a request that creates permits names the server time
// after which it has no effect. So neither a second copy of a request nor a late one takes a permit for nobody.
//
// Redisson's layout has no place for ids in a [Counting]. A sorted set beside the number remembers its requests,
// whether they changed something or not, for as long as a copy can arrive; a copy finds its own id and changes nothing.
// An answered request is remembered until its not-after, some seconds; the next request of the same client says that it
// was answered. An Acquire without an answer is remembered for about a minute and a half by default, because an
// abandoned one is cancelled: the permits it took come back, and a copy that arrives later takes nothing. The
// remembered requests are in one key for each name, which expires by itself.
//
// With [ExpireUnused], the number and the set have one expiry. Each use sets it anew, in its own script, and never
// before the last lease in the set ends, of any client; a renewal lengthens both the lease and the expiry. So the
// expiry strikes the number, and leases that are over, and nobody's permits. Redisson, too, gives both keys one expiry,
// when it takes permits of a semaphore that has one.
//
// # On a cluster
//
// While a slot is being migrated, Redis refuses a script of two keys if one of them is absent at the node. Held permits
// are still renewed, by a script of one key, which does not put the expiry of [ExpireUnused] off: it should be longer
// than a migration takes. Acquiring the first permit of an idle semaphore, Available, Capacity and the calls of a
// counting one must wait until the migration is over.
package semaphore
