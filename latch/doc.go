// Package latch is a count on Redis that is waited for to reach zero, in Redisson's layout: Go and Java
// processes that use one name count and wait together.
//
//	done := latch.New(client, "import:2026-08") // a client of package rlock
//	err := done.Set(ctx, 3)                      // three parts are to be done
//	...
//	err = done.CountDown(ctx) // by whoever has done a part
//	...
//	err = done.Wait(ctx) // by whoever needs all of them
//
// # What is guaranteed, and what is not
//
// A [Latch.CountDown] counts once. Its request carries an id, and Redis remembers beside the count which ids
// it has seen, for as long as they can come again, some seconds by default: a request that is sent again
// because its reply was lost, or that the network doubles or delays, finds its own trace and changes
// nothing, also if it changed nothing the first time. One that is read too late to be remembered says
// itself until when it may be carried out, in the server's time, and is refused. The same is so for
// [Latch.Set] and [Latch.Delete], so nothing late ends a count that began since.
//
// A [Latch.Wait] that returns nil has seen that there was no count. It does not depend on messages: they
// only make it quick. Whoever waits subscribes first, then looks, and looks again with every message,
// with every subscription that had to be made anew, and every ClientOptions.MaxPoll. So waits survive lost
// messages, and restarts of Redis that keep its data. All that wait in one process cost as much as one.
//
// Nobody owns a latch. A process that dies before its CountDown leaves the count where it is, and Redis keeps
// it for ever: wait with a deadline, and [Latch.Delete] to let everybody go. A latch that has opened leaves
// nothing but its last requests, in one key, which Redis forgets by itself within minutes.
//
// Absent means zero, in Redisson's layout: a latch that was never set is open, and so is one that Redis
// forgot, in a restart without persistence or a failover to a replica that had not heard of it. Where a
// wait must not end then, look at what it waited for.
//
// A latch and a semaphore of one name cannot be told apart: either is a number. Everything else that may
// stand at the name is rlock.ErrKeyConflict.
//
// # With Redisson
//
// The count is a string at the name, "0" on the channel redisson_countdownlatch__channel__{name} says that
// it reached zero, "1" that one began. [Latch.Delete] says "0" too, where Redisson's own deletion leaves
// its waiters parked for ever. Redisson puts braces around the name in the channel whatever there is in
// it; on a cluster that makes names with braces unusable for both, and here they are refused.
//
// While a slot of a cluster is being moved, Redis refuses scripts that touch two keys of it of which one
// is absent at the node, as the count or what remembers the requests can be: Set, CountDown and Delete then
// try again for as long as ClientOptions.ReleaseTimeout. Wait and Count touch one key and go on.
package latch
