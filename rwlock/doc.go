// Package rwlock is a distributed read-write lock on Redis: many readers or one writer. It uses the keys of Redisson's
// RReadWriteLock, so Go and Java processes share it.
//
//	reports := rwlock.New(client, "reports") // client: a *rlock.Client, one per process
//
//	err = reports.Read().Do(ctx, func(ctx context.Context) error { return serve(ctx) })
//	err = reports.Write().Do(ctx, func(ctx context.Context) error { return rebuild(ctx) })
//
// Each side is a *rlock.Lock. What package rlock says about holds, contexts, leases, loss and errors applies to both.
//
// # Rules
//
//  1. A context that carries a hold of one side re-enters that side.
//  2. Inside a write hold, Read().Lock succeeds at once and gives a read hold with a lease of its own. If you keep it
//     beyond the write hold, the lock is downgraded: no writer gets in between, and waiting readers are let in. Call
//     Read().Lock with [context.WithoutCancel] for that, or its context ends with the write hold's (see the example).
//  3. Inside a read hold, Write().Lock returns [ErrUpgrade] without asking Redis: two readers that both wait to write
//     would wait for each other. Unlock the read side first.
//  4. A reader must not wait for work that reads the same lock with another context. That work may queue behind a
//     writer, which waits for the reader.
//
// # What is promised, and what is not
//
// Where readers and writers use this module, readers do not starve writers. A writer that waits for readers, of its own
// process or of others, closes a gate, a key beside the lock, and new readers of all processes queue behind it. A
// reader that holds already keeps its hold, and re-enters with its context. The gate stays closed for a few poll
// intervals, at most a lease, and the writer renews it while it waits. If the writer's process dies, the gate opens by
// itself. TryLock does not wait and closes no gate.
//
// Not promised:
//   - An order. When a writer unlocks, all waiters are woken, and any of them may be first.
//   - Fairness between Go and Java. Readers in Java do not know the gate, and can starve a writer in Go. A writer in
//     Java closes no gate: readers in Go go on to join one another and can starve it, as Java's own readers can.
//   - A bound on what a crashed reader delays if the clock of the server is set back: its lease is then longer by that
//     step. Renewals correct the leases of live readers.
//
// A crashed reader delays writers only until its own lease ends, whatever other readers renew. No lease shortens
// another one.
//
// # What it costs
//
// The first reader of a process asks Redis, and others join its hold without a request: for 8 ms if Redis is near, for
// four round trips over a network, never for more than 50 ms, counted from the request that was granted. So joining
// delays a writer by at most that time. The next reader asks Redis again; those that arrive meanwhile wait for its
// answer and share it. If that answer is not a grant, or takes longer than joining lasts, each of them asks for itself.
// If a round trip takes more than 25 ms, no reader joins another.
//
// Readers that joined are one hold in Redis, with one lease. If it is lost, each of them learns of it. The last one to
// unlock releases it, so nil from an earlier unlock says that the hold was valid, not that Redis was asked. MaxHold
// ends only the reader that has it. A reader with a [rlock.FixedLease] neither joins nor is joined. Export gives a
// reader a hold of its own.
//
// A process passes the write lock from writer to writer in memory for some milliseconds, as package rlock does: each
// turn has its own context and fencing token. A writer inside whose hold a reader came releases the lock instead.
//
// # Fencing
//
// Each write hold has a greater token than the one before. A read hold carries the newest token that was reserved for a
// writer: it is not below the last writer's and is below the next writer's. A read hold inside a write hold carries the
// writer's token. Example: a writer has token 40, and its process has reserved 41 to 43 for turns that it never used. A
// reader then carries 43, and the next writer gets at least 44. Storage that keeps the highest token of a writer and
// refuses smaller ones rejects a stale writer. A reader that finds a higher token stored than its own knows that
// somebody has written since.
//
// Where Redis has no token of the name, the first reader takes one from the server's clock. So the tokens of readers do
// not fall when data is lost. They do fall if Redis comes back with older data, such as a backup: such a reader sees a
// higher token in the storage, as if somebody had written since.
//
// # Operators
//
// Inspect lists one side: the readers, each with its own lease, or the writer. Readers of one process that joined are
// one holder with one level. The IDs are those of [rlock.Hold]; in Redis a writer's field ends in ":write".
// Read().Break takes the lock from all readers, Write().Break from the writer, whose nested read holds stay.
//
// # With Redisson
//
// Java's writers wait for the lease of the lock as a whole. It is never shorter than any hold needs. It can be longer
// than the remaining holds need, if a reader with a longer lease has left or died. Java's readers set it to their own
// lease (30 s by default) with every renewal: if Java reads the same lock, do not use a longer lease than Java does.
//
// # Why it is safe
//
// One script decides each request, on the lock's hash: a writer is granted it only if there is neither a writer nor a
// reader whose own lease key exists, and a reader only if there is no writer. A writer that waits looks at one live
// reader, never at all of them.
//
// The hash at the name has the mode (read or write) and one field with a count for each reader and for the writer. Each
// level of a reader has a key {name}:<id>:rwlock_timeout:<level> that expires with its lease. Redisson counts the
// fields of the hash, so nothing else may be in it. The number that distinguishes a step inside a hold from a late copy
// of it is therefore kept in the value of the reader's first key, which Redisson ignores, and behind the count of a
// nested writer ("2:7"), which Redisson skips. Beside them are the gate, holdfast_gate:{name}, the fencing token, and
// the channel redisson_rwlock:{name}. On a cluster all of them are in one slot; while it is being migrated, locks are
// taken, renewed and released key by key.
package rwlock
