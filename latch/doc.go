// Package latch is a distributed countdown on Redis: callers wait until a count reaches zero. It uses the layout of
// Redisson's RCountDownLatch, so Go and Java processes count and wait together.
//
//	done := latch.New(client, "import:2026-08") // client: a *rlock.Client, one per process
//	err := done.Set(ctx, 3)                     // three parts to do
//	...
//	err = done.CountDown(ctx) // after each part, in any process
//	...
//	err = done.Wait(ctx) // until all parts are done
//
// # Rules
//
//  1. Call Set before anybody calls Wait: a latch without a count is open, and Wait returns at once.
//  2. Wait with a deadline. Nobody owns a count, so a process that dies before its CountDown leaves it as it is, and
//     Redis keeps it for ever. [Latch.Delete] releases all waiters. A count that [Latch.SetFor] started ends by itself.
//  3. Check the result that you waited for, if Wait must not return without it: Redis forgets a count in a restart
//     without persistence, or in a failover to a replica that had not received it, and the latch is then open.
//  4. Use a name for one thing. A latch and a semaphore of the same name cannot be distinguished, because each is a
//     number. Anything else at the name is rlock.ErrKeyConflict.
//
// # What is promised
//
// A [Latch.CountDown] counts once, even if its request is sent again, duplicated or delayed by the network. The same
// holds for [Latch.Set] and [Latch.Delete]: a late copy never ends a count that began after it.
//
// A [Latch.Wait] that returns nil has seen that there was no count. Lost messages, and restarts of Redis that keep its
// data, delay a Wait but do not break it.
//
// # What it costs
//
// CountDown, Set and Delete take one request each. All waiters of one process together cost as much as one: a
// subscription, and a request every ClientOptions.MaxPoll. An open latch leaves nothing in Redis but its last requests,
// in one key that expires within minutes.
//
// # Why it is safe
//
// Each request that changes something carries an id, and Redis keeps the ids of recent requests beside the count for as
// long as a copy can arrive, some seconds by default. A copy finds its own id and changes nothing, even if the original
// changed nothing. A request also names the server time after which it must not be carried out, so a copy that arrives
// after its id was forgotten is refused, unless the server's clock was set back in between.
//
// Example: a CountDown is sent at server time 100 s with a not-after of 105 s, takes the count from 3 to 2, and its
// reply is lost. The client sends it again at 101 s: the script finds the id and answers that it was done. A copy that
// arrives at 106 s is refused because of its not-after. The count is 2 in both cases.
//
// Messages only make Wait fast. A waiter subscribes first and then asks, so a count that reaches zero in between is
// seen by the question. It asks again with every message, every renewed subscription, and every ClientOptions.MaxPoll.
//
// # With Redisson
//
// The count is a string at the name. On the channel redisson_countdownlatch__channel__{name}, "0" says that the count
// reached zero, and "1" that one began. [Latch.Delete] publishes "0" too; Redisson's own deletion does not, and leaves
// its waiters blocked for ever. Redisson puts braces around the name in the channel, whatever the name contains. On a
// cluster that makes names with braces unusable for both, and this package refuses them.
//
// While a slot of a cluster is being migrated, Redis refuses a script of two keys if one of them is absent at the node,
// as the count or the key of the requests can be. Set, CountDown and Delete then retry for up to
// ClientOptions.ReleaseTimeout. Wait and Count use one key and are not affected.
package latch
