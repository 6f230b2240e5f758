// Package wake receives the messages by which Redis tells waiters to try again.
//
// A [Hub] keeps one subscription connection per node, however many names have waiters, and counts
// references: [Hub.Listen] subscribes to a channel for its first waiter, and a while after the last
// [Ticket] left, the hub unsubscribes. That delay makes a contended name cheap, because its next
// waiter finds the subscription confirmed. A connection ends half a minute after its last channel:
// nodes come back under other addresses, and nobody would ask for the old ones again.
//
// # What may be relied on
//
// A message that Redis publishes after a ticket's Ready channel was closed and before the connection
// broke wakes the ticket. Nothing else is promised, and nothing else is needed: pub/sub loses
// messages whenever a connection is replaced, so a waiter must
//
//  1. listen, and wait for Ready (for a bounded time);
//  2. try: this finds what was released before the subscription was confirmed;
//  3. wait for the ticket's channel, but never longer than a poll interval.
//
// After every resubscription each ticket is woken once, because a message may have been published
// while nobody listened.
//
// # Why no wake-up is lost
//
// Let a waiter listen, see Ready closed at time r, and try at time t, later than r. A release that Redis
// carried out before the try is found by the try. A release after it is also after r, so Redis sends
// its message to this connection, unless that broke in between:
//
//	waiter:  listen ..... Ready (r) .... try (t), refused .... waits
//	release before t:                x   the try finds the lock free
//	release after t:                                    x      the message wakes the waiter
//	break, release, resubscription:                     x x x  the confirmation wakes the waiter
//
// A message can also be lost without an error, in a server that fails over or on a connection that
// died unnoticed. Only the poll covers that, which is why it is the third of the rules above.
//
// # Why not go-redis's own channels
//
// On a cluster go-redis resubscribes all sharded channels of a connection in one command. Channels of
// different slots make that a CROSSSLOT error, and from then on the subscription is silent: no error,
// no event, no message. So the hub reads its connections with Receive, which returns errors. After
// any error, and after an unsubscription that it did not ask for (a slot that moved), it rebuilds the
// connection, with one SSUBSCRIBE per channel, each on the node that owns the slot by then.
package wake
