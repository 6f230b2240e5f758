// Package rlock is a reentrant distributed lock on Redis whose holders know in time when they lost it.
//
//	client, err := rlock.NewClient(rdb, nil) // one per process
//	defer client.Close()
//
//	lock := rlock.New(client, "order:1001")
//	err = lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, order) // may lock order:1001 again with this ctx: it re-enters
//	})
//
// The keys, the channels and the messages are Redisson's: a Go process and a Java process that use one
// name contend for one lock, and wake one another.
//
// # The context is the hold
//
// [lock.Lock.Lock] returns a context. It carries the hold: a nested Lock that is given it re-enters, and it
// ends when the hold ends, with the reason as its cause. There is no owner besides it, no thread, no
// goroutine id. From that follow three rules.
//
//  1. Pass on the context that Lock returned, and no older one. With an older one a nested Lock waits
//     for itself, and the work does not learn that the lock was lost. Mind := in an inner block, and
//     [net/http.Request.Context]. A waiter that stood behind its own client for a second is logged.
//  2. Whoever has the context has the lock: goroutines that are given it are inside together and do
//     not exclude one another. Take the holds out with [WithoutHolds] for work that has to queue like
//     everybody else. It ends with the hold all the same: work that outlives the hold takes the outer
//     context, or context.WithoutCancel(WithoutHolds(ctx)); [context.WithoutCancel] alone keeps the
//     holds in.
//  3. The returned context is a child of the one given to Lock. A deadline there cuts the work short
//     as well as the wait ([MaxWait] limits the wait alone), and after unlock it is over, with
//     everything that was made from it: rows, response bodies, goroutines. To go on after the lock use
//     [lock.Lock.Do]: the outer context is still there.
//
// # What is guaranteed, and what is not
//
// While Redis keeps the key and clocks run at nearly one rate, no two holders believe in their hold at
// one time. A holder stops believing, which is to say that its context ends, before its lease can run
// out in Redis, whatever happens to the network, to Redis or to replies: its validity is the start of
// the last confirmed call, plus the lease, minus 1 % and 2 ms for drift and a tick of the wheel.
//
// When Redis itself forgets a lock (deleted, evicted, a restart without persistence, a failover to a
// replica that had not heard of it yet), another may get it at once, and the holder learns of that with
// its next renewal: there are two for up to a third of a lease. Meanwhile the lock may still be passed on
// inside the process of the first, for 50 ms at most. ClientOptions.MinReplicas makes the failover case
// rarer. A process that is stopped cannot be told anything, and finds its context over only when it runs
// again. Nothing built on leases can exclude these cases; a fencing token can make them harmless. Every hold has
// one, Hold.Fence, which grows with every acquisition of a name: storage that keeps the highest one seen, and
// refuses less, turns a stale holder away.
//
// # How it works
//
// A lock is a hash at its name, with one field, "<client uuid>:<nonce>", for its hold: the count of its
// levels. A hold is renewed every third of its lease, with hundreds of others in one script, until it
// is unlocked. Who waits is woken by Redis's pub/sub, and looks for itself every ClientOptions.MaxPoll
// in case the message was lost. Inside a process waiters stand in line, first in, first out, and a
// holder that is done passes the lock to the next in memory, without a request: Redis knows that the process
// has it, and each turn has a fencing token of its own. After a run of such turns, of some milliseconds, the
// process lets others have it. Across processes no order is promised.
//
// So a nil error of unlock says that the lock was valid to the end, and that it was passed on or released. Only
// where it was released has Redis confirmed that the key still stood; if it did not, the turn whose unlock ends
// the run is told, or the one that has the lock when a renewal finds out.
//
// A nested Lock that asks for no more than the hold has is done when the process knows of it, and so is its
// unlock: nil says that the hold is believed in, not that Redis was asked. How many levels there are is this
// process's knowledge, which [lock.Lock.Held] tells; the count in Redis, for those who look, follows some milliseconds
// behind, and what is shorter than that it never shows. A level with a lease of its own ([FixedLease]) is waited for
// on both ways, as Redis has to keep the lock for it.
//
// Whoever holds and hears that somebody released the lock (Redisson's forceUnlock, [lock.Lock.Break] elsewhere) asks
// Redis at once whether the hold stands, and does not pass it on before. It hears that only while this client listens,
// which it does because others of it waited; without that, the next renewal tells.
//
// Every request may be sent twice, late, or both, and takes effect once: each Lock call that asks Redis
// has an id that no other one ever uses, steps inside a hold are numbered, and what creates a hold says until when,
// in the server's time, it may be carried out. A call that is given up leaves nothing behind.
//
// What all locks of this module share is in package lock: the handle, what it tells, options and errors. Their names
// here stand for the same types, values and functions, and a program that locks in Redis needs no other package for
// them. The methods of a Lock are documented there: [lock.Lock].
//
// It is made for Redis 6.2 and newer and for Valkey: single nodes, Sentinel, Cluster. An ordinary client may also be
// before a server that wants the keys of a script in one slot, as a cluster of one node or a proxy does.
package rlock
