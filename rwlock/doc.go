// Package rwlock is a distributed read-write lock on Redis, on the keys of Redisson's RReadWriteLock: many
// readers or one writer.
//
//	reports := rwlock.New(client, "reports") // client: a *rlock.Client, one per process
//
//	err = reports.Read().Do(ctx, func(ctx context.Context) error { return serve(ctx) })
//	err = reports.Write().Do(ctx, func(ctx context.Context) error { return rebuild(ctx) })
//
// Both sides are a *rlock.Lock, and what package rlock says about holds, contexts, leases, loss and errors
// holds for both. What follows is about the two together.
//
// # One side inside the other
//
// With a context that carries a hold of a side, that side is entered again. With one that carries a write
// hold, the read side is granted at once, as a hold of its own with its own lease. If it is kept when the write
// hold is unlocked, the lock becomes a read lock without anybody getting in between, and readers that wait
// come in at once; its context then has to outlive the write hold's, of which it would be a child: see the
// example of a downgrade. The other way round there is nothing to wait for: two readers that both want to write
// would wait for each other. [ErrUpgrade] says so, and nothing is sent.
//
// # Order
//
// A writer is not starved by readers of this module. One that waits for readers to leave shuts a gate, a
// key beside the lock, and readers that come later wait behind it. Present readers may read on, and read
// again with a context that carries the hold; so do not make a reader wait for something that reads the
// same lock with another context. The gate is shut for a few poll intervals and at most a lease, by the
// server's clock, and again for as long as the writer is there to do so: when its process dies it opens by
// itself. TryLock waits for nobody and shuts nothing. Readers in Java do not know the gate, and join other
// readers whenever they like: against them a writer may starve.
//
// While a goroutine of a process reads, others of it join, for which nothing is sent: 8 ms long where Redis is near,
// over a network for four round trips, and 50 ms in any case, counted from the request that found the gate open. So a
// writer waits that much longer at most. Then the next reader asks Redis again, and is the one that is joined. Those
// that come while it asks wait for its answer, and join what it is granted: many readers send one request. If
// the answer is not a grant, or takes longer than a hold is joined, each of them asks for itself. Where Redis is
// further away than 25 ms, each asks in any case.
//
// When a writer leaves, all who wait are woken, and which of them comes first is not promised. A process may
// pass the lock from writer to writer for a while, in memory, as it does with a reentrant lock: each turn has a
// context and a token of its own, and Redis sees one hold. A writer inside whose hold somebody read releases it.
//
// # Leases
//
// Readers that joined one another are one reader for Redis: they share one lease. If it is lost, each of them learns
// of that; the last one to unlock releases it. MaxHold ends only the reader that has it, and a reader with a
// [rlock.FixedLease] neither joins nor is joined. nil from the unlock of a reader that leaves others behind says that
// the hold was valid to its end, not that Redis was asked. Export gives a reader a hold of its own beside the others'.
//
// Each reader has a lease of its own, in a key of its own, and a writer looks at those: a reader that died
// is out of its way when that reader's lease is over, whatever other readers renew. No lease shortens
// another one. A writer that waits looks at one living reader, never at all of them.
//
// Java's writers look at the lease of the lock as a whole. That is never shorter than a hold needs; it can be
// longer, if a reader died or had a longer lease than those who stayed, until readers have left or it has
// run out. Java, on the other hand, sets it to its own lease with every renewal (30 s by default): with
// readers of Java in the same lock, do not use longer leases than they do.
//
// If the server's clock steps back, the lease of a reader that crashes before its next renewal is longer by the
// step, and writers wait for that. The renewals of readers that live put theirs right.
//
// # Fencing
//
// Writers have tokens that grow with every write hold. Readers carry the newest that was reserved for a writer,
// which is that of the last one or, where a process passed the lock on, a number between that and the next
// writer's; a read inside a write hold carries that one's. Storage that keeps the highest token of a writer,
// and refuses less, turns away a stale writer, and a reader that finds a higher one stored than its own learns
// that somebody has written since.
//
// # Operators
//
// Inspect lists one side: the readers, each with the lease that is its own, or the writer. Those that joined one
// another are one, with one level and what is nested in them. Their IDs are what [rlock.Hold] tells; a writer's field
// in Redis has ":write" behind it. Break takes the lock from exactly those: Read().Break from all readers,
// Write().Break from the writer, whose own read holds stay.
//
// # In Redis
//
// A hash at the name: mode (read or write), a field with a count for each reader and for the writer; for
// each level of a reader a key {name}:<id>:rwlock_timeout:<level> with the reader's lease; the channel
// redisson_rwlock:{name}. Nothing else may be in the hash, for Redisson counts its fields. So the number
// that tells a step inside a hold from its late copy is kept in the value of a reader's first key, which
// Redisson does not look at, and behind the count of a nested writer ("2:7"), which it takes for no reader's
// and passes over. Beside them the gate, holdfast_gate:{name}, and the fencing token. On a cluster all of it
// lies in one slot, and while that moves, locks are taken, renewed and released key by key.
package rwlock
