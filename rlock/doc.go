// Package rlock is a reentrant distributed lock on Redis that tells a holder in time when its hold is lost.
//
//	client, err := rlock.NewClient(rdb, nil) // one per process
//	defer client.Close()
//
//	lock := rlock.New(client, "order:1001")
//	err = lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, order) // may lock order:1001 again with this ctx: it re-enters
//	})
//
// The keys, channels and messages are Redisson's: a Go process and a Java process that use the same name contend for
// one lock and wake one another.
//
// # Rules
//
// [lock.Lock.Lock] returns a context. It carries the hold: a nested Lock with that context re-enters, and the context
// ends when the hold ends, with the reason as its cause. Nothing else identifies the owner, neither a thread nor a
// goroutine id. Three rules follow:
//
//  1. Pass on the context that Lock returned, never an older one. A nested Lock with an older one waits for its own
//     caller, and the work does not learn that the lock was lost. Watch out for := in an inner block, and for
//     [net/http.Request.Context]. A waiter behind one hold of its own client is logged after five seconds.
//  2. Every goroutine that has the context holds the lock: goroutines that share it do not exclude one another. For
//     work that must queue like any other caller, take the holds out with [WithoutHolds]. That context still ends with
//     the hold. Work that outlives the hold uses the outer context, or context.WithoutCancel(WithoutHolds(ctx));
//     [context.WithoutCancel] alone keeps the holds. A handle made with [NonReentrant] refuses a context that carries
//     the hold.
//  3. The returned context is a child of the one given to Lock. A deadline on the outer context limits the work as well
//     as the wait ([MaxWait] limits only the wait). After unlock the returned context has ended, and with it everything
//     derived from it: rows, response bodies, goroutines. To go on after the lock use [lock.Lock.Do]: the outer context
//     is still there.
//
// # What is promised, and what is not
//
// At most one holder treats its hold as live at any time, provided that Redis keeps the key and clocks run at nearly
// the same rate. A holder stops, which means that its context ends, before its lease can end in Redis, whatever happens
// to the network, to Redis or to replies: its validity is the start of the last confirmed call, plus the lease, minus 1
// % and 2 ms for drift and a tick of 10 ms.
//
// When Redis itself forgets a lock (deleted, evicted, a restart without persistence, a failover to a replica that had
// not received it yet), another process may get it at once, and the holder learns of the loss with its next renewal.
// Until then, up to a third of a lease, there are two holders. Meanwhile the first process may still pass the lock on
// in memory, for 50 ms at most. ClientOptions.MinReplicas makes the failover case rarer. A stopped process cannot be
// told anything; it finds its context ended when it runs again. No lock built on leases can exclude these cases; a
// fencing token can make them harmless. Every hold has one, Hold.Fence, which grows with every acquisition of a name.
// Storage that keeps the highest token it has seen, and refuses lower ones, rejects a stale holder.
//
// Across processes no order is promised. A nil error of unlock says that the lock was valid to the end, and that it was
// passed on or released. Only a release has been confirmed by Redis. If the key was gone by then, the loss is reported
// to the turn whose unlock ends the run of turns (see below), or to the turn that holds the lock when a renewal finds
// out.
//
// # What it costs
//
// A free lock takes one round trip to lock and one to unlock. A nested Lock takes none, and neither does its unlock.
// Inside a process waiters queue, first in, first out, and unlock passes
// the lock to the next waiter in memory, without a request: Redis knows that the process holds it, and each turn has
// its own fencing token. After a run of such turns, some milliseconds long, the process releases the lock, so that
// others get it.
//
// Only the first waiter of a process asks Redis. Redis's pub/sub wakes it, and it also asks again every
// ClientOptions.MaxPoll in case a message was lost. A hold is renewed every third of its lease, together with hundreds
// of others in one script.
//
// # Why it is safe
//
// A lock is a hash at its name. Its one field, "<client uuid>:<nonce>", stands for the hold, and the value counts the
// hold's levels. One script decides each request.
//
// Example of the validity with a lease of 30 s: a request that is sent at 100.0 s and answered at 100.8 s makes the
// hold valid until 129.688 s (300 ms for drift, 2 ms for the granularity of expiry, 10 ms for a tick). Redis received
// it after 100.0 s, and so keeps the lock until 130.0 s at least.
//
// Every request may be sent twice, arrive late, or both, and takes effect once. Each Lock call that asks Redis has an
// id that is never used again, and a request that creates a hold names the server time after which it has no effect. An
// abandoned call leaves nothing behind.
//
// A nested Lock returns nil if the hold is live by this process's clock, not because Redis was asked. This process
// alone decides the number of levels, which [lock.Lock.Held] reports. The count in Redis, which others see, follows
// some milliseconds later and never shows a level that lasted less than that. After a message that comes late, it may
// be wrong until the next level; nothing depends on it.
//
// If another client ends the hold (Redisson's forceUnlock, [lock.Lock.Break] in another process), a holder that
// hears of it asks Redis at once whether its hold still exists, and does not pass the lock on before. It hears of it
// only while this client is subscribed because other callers waited; otherwise the next renewal finds out.
//
// # Packages and servers
//
// Package lock has what all locks of this module share: the handle, what it reports, options and errors. Its names are
// repeated here as the same types, values and functions, so a program that locks in Redis needs no other package. The
// methods of a Lock are documented there: [lock.Lock]. Package operate lists the locks of all clients, and checks
// whether a server suits them.
//
// Redis 6.2 and newer and Valkey are supported, as single nodes, with Sentinel, or as a Cluster. An ordinary client
// also works with a server that wants the keys of a script in one slot, such as a cluster of one node or a proxy.
package rlock
