// Package latch is a countdown on Redis: callers wait until a count reaches zero. It uses Redisson's layout, so Go
// and Java processes that use the same name count and wait together.
//
//	done := latch.New(client, "import:2026-08") // a client of package rlock
//	err := done.Set(ctx, 3)                      // three parts to do
//	...
//	err = done.CountDown(ctx) // after each part
//	...
//	err = done.Wait(ctx) // until all parts are done
//
// # What is guaranteed, and what is not
//
// A [Latch.CountDown] counts once. Its request carries an id, and Redis keeps the ids of recent requests beside the
// count for as long as a copy can arrive, some seconds by default. A request that is sent again because its reply was
// lost, or that the network duplicates or delays, finds its own id and changes nothing, even if it changed nothing
// the first time. A request also names the server time after which it must not be carried out, so a copy that arrives
// after its id was forgotten is refused, unless the server's clock stepped back in between. The same holds for
// [Latch.Set] and [Latch.Delete], so nothing late ends a count that began since.
//
// A [Latch.Wait] that returns nil has seen that there was no count. It does not depend on messages, which only make
// it fast. A waiter subscribes first, then asks, and asks again with every message, with every renewed subscription,
// and every ClientOptions.MaxPoll. Waits therefore survive lost messages, and restarts of Redis that keep its data.
// All waiters in one process together cost as much as one.
//
// Nobody owns a latch. A process that dies before its CountDown leaves the count as it is, and Redis keeps it for
// ever: wait with a deadline, and use [Latch.Delete] to release all waiters. An open latch leaves nothing but its
// last requests, in one key, which expires within minutes.
//
// In Redisson's layout absent means zero: a latch that was never set is open, and so is one that Redis forgot, in a
// restart without persistence or a failover to a replica that had not received it. If a wait must not end in that
// case, check the result that it waited for.
//
// A latch and a semaphore of the same name cannot be told apart: each is a number. Anything else at the name is
// rlock.ErrKeyConflict.
//
// # With Redisson
//
// The count is a string at the name. On the channel redisson_countdownlatch__channel__{name}, "0" says that the count
// reached zero, "1" that one began. [Latch.Delete] also publishes "0"; Redisson's own deletion does not, and leaves
// its waiters parked for ever. Redisson puts braces around the name in the channel whatever the name contains; on a
// cluster that makes names with braces unusable for both, and this package refuses them.
//
// While a slot of a cluster is being migrated, Redis refuses a script of two keys if one of them is absent at the
// node, as the count or the key of the requests can be. Set, CountDown and Delete then retry for up to
// ClientOptions.ReleaseTimeout. Wait and Count use one key and are not affected.
package latch
