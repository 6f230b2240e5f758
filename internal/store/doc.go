// Package store is what the engine asks of a database, in the database's own terms nowhere: who excludes whom, the
// requests that take, change, renew and release a hold, and the messages that tell of a release. Redis is one store
// (package redisstore); a store in memory is another.
//
// # What a store has to keep
//
//   - A request is carried out as a whole or not at all, and those for one key one after the other.
//   - Every request that takes something names an id that is used once, and a not-after in the store's own time: read
//     later than that, it does nothing. A second copy is recognised by its id and answered [Already].
//   - A hold ends by a release that names its id, or when its lease is over by the store's clock.
//   - A fencing token is larger than all that the store gave out for the key before. Spare tokens right below it are
//     the holder's too.
//   - A release is told on the lock's channel to all who listen when it is carried out. Messages may be lost; a
//     subscription that may have missed some wakes its listeners, so nothing but time is lost with them.
//
// # Errors
//
// An error says what its request may have done: see [Fault]. One that says nothing is taken for [FaultAmbiguous],
// which is always safe: the request is sent again under the same id, or its id is released until no copy can come.
package store
