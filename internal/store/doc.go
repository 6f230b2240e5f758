// Package store is the engine's interface to a database, free of any one database's terms: which holds exclude each
// other, the requests that take, change, renew and release a hold, and the messages that announce a release. Stores are
// Redis (package redisstore), PostgreSQL (pgstore, in module pglock), etcd (etcdstore, in module etcdlock), ZooKeeper
// (zkstore, in module zklock), and one in memory (memstore). The engine asks by ids and durations. It knows no clock
// but its client's: what a store's own clock shows, and what follows from it, is the store's matter.
//
// # What a store must guarantee
//
//   - A request is atomic, and the requests for one key are carried out one after the other.
//   - Every request that takes something names an id that is used once, and says how late it may be carried out
//     ([Timing]): after that it has no effect. A second copy is recognised by its id and answered with [Already].
//   - The receipt of a request ([Receipt]) says since when its lease counts, and until when copies can come. A release
//     that names that ([Parting]) is repeated until the store knows that nothing can take the id any more.
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
//
// # How other databases answer
//
// The interface is kept such that a relational database and a consensus service fit. PostgreSQL's column is what
// package pgstore does, etcd's what package etcdstore does; what bends is named at the end.
//
//	request           PostgreSQL                                etcd
//	---------------   ---------------------------------------   ----------------------------------------------
//	Start, Wait       two pools, one of them for renewals, and  the application's client, and watches
//	                  one connection that listens
//	Node              one name; answers have the timeline       one name: those who agree are one
//	Ready             no recovery; the table is there, and may  the servers' versions
//	                  be used
//	Direct            no: a call that is left costs its         no
//	                  connection
//	Replaceable       yes: the timeline changes                 no
//	Slot              one                                       one, 128 operations at most
//	Listen, Heard     one channel for all names, the key is     a watch from the revision of the answer; the end
//	                  in the message                            of a lease is heard too
//	Others            if the row says that another client       none: the queue orders turns
//	                  listens, those who had the lock lately
//	Acquire           lock the row, then compare a not-after    put under the client's lease if the key is new,
//	                  and the lease with clock_timestamp()      else read who stands before
//	Receipt           the sending, and the not-after            the sending of the keep-alive that was answered,
//	                                                            and 1: a copy may come
//	Late, Again       an estimate of the server's clock         until the id is sealed
//	Busy              the rest of the lease; soon, if another   any time: the end of the lease is heard
//	                  transaction has locked the row
//	Release, Parting  lock the row, update it where the id      delete the key if its value is the id; where a
//	                  stands, and keep it                       copy may come, put a seal by the same transaction
//	Renew             one update of many rows, skipping those   one keep-alive for all, and a read that says
//	                  that are locked, which are not gone       which keys stand
//	AcquireAll        rows locked in the order of their keys    none: a set is taken one by one
//	Levels, Note      not kept; columns                         not kept; in the key's value, behind the id
//	Acquire from      yes                                       no: Traits.Stays
//	Retaining         an end of its own                         no
//	Inspect           select                                    a range, and what is left of the lease
//	Enqueue, Serving  not there yet: a second table would do    not needed: the order is the store's
//	Change            not there yet: a row, and a table of      not there yet
//	                  request ids would do
//
// What bends:
//
//   - Again. Redis and PostgreSQL settle an id by their clock: a release that was carried out after the not-after. A
//     transaction of etcd has no clock. It settles an id by a key that the acquisition compares and the release writes,
//     or by revoking the lease under which a copy would write. Either is said by an Again of zero.
//   - The beginning of a lease. The engine counts from the receipt. Where all holds of a client hang on one lease, that
//     is the sending of the last keep-alive that was answered, so such a store sends one beside an acquisition, unless
//     it has just sent one, and answers when it has both.
//   - The least lease and its steps are the store's to say (Traits.CheckLease): whole seconds on etcd, and not fewer
//     than five, or an election ends every hold.
//   - A place in the store's queue that is taken by asking is given up by a release ([Traits] Marks). To ask again must
//     then be a read.
//   - Tokens are comparable within one store. A store that counts revisions adds a base, or they fall when a program
//     moves, and reads it with every grant, so that it can be raised.
package store
