// Package store is the engine's interface to a database, free of any one database's terms: which holds exclude each
// other, the requests that take, change, renew and release a hold, and the messages that announce a release. Redis is
// one store (package redisstore); a store in memory is another.
//
// # What a store must guarantee
//
//   - A request is atomic, and the requests for one key are carried out one after the other.
//   - Every request that takes something names an id that is used once, and a not-after in the store's own time: after
//     that time it has no effect. A second copy is recognised by its id and answered with [Already].
//   - A hold ends by a release that names its id, or when its lease ends by the store's clock.
//   - A fencing token is larger than all that the store issued for the key before. Spare tokens right below it
//     belong to the holder too.
//   - A release is published on the lock's channel to all listeners when it is carried out. Messages may be lost; a
//     subscription that may have missed some wakes its listeners, so a lost message costs only time.
//
// # Errors
//
// An error says what its request may have done: see [Fault]. An error that does not say counts as [FaultAmbiguous],
// which is always safe: the request is sent again under the same id, or its id is released until no copy can arrive.
package store
