// Package localqueue decides which caller of a process may ask the store for a key, which is next, how long a run of
// turns goes on, and what a waiter that leaves has to clean up.
//
// It only decides: nothing here sends, sleeps, locks a mutex or reads a clock. Instants are arguments, and the caller
// holds one mutex across every call that concerns a key. So each rule has an exact test, and all interleavings of a few
// waiters are searched (search_test.go).
//
// # One queue per key
//
// A [Queue] is the state of one key over all its modes: how many holds of each mode are live here, the waiters in their
// order, the run of turns, the fairness debt to other processes, which waiters are registered in a queue that the store
// keeps, and what the store last said of the key ([Said]). A [Kind] says which mode excludes, follows and inherits
// which.
//
// A waiter may ask the store if no local hold excludes it, nobody ahead of it goes first, and nobody ahead of it has to
// wait. With an exclusive lock, that is one waiter or none, so what the store does for a key does not grow with the
// number of waiters. Several readers ask together. Waiters that take nothing from one another (Waiter.Several) ask
// whenever they come, until the store has told one of them "busy": then those that come later stand behind it, and of
// those that asked at the same time and were all refused the first goes on asking.
//
// A try does not wait: it asks at once, beside others. It is refused without a request by a local hold that excludes
// it, and by a waiter that such a hold or the store refused, because that waiter has an older claim. A waiter that
// nobody has refused has none: were the lock free, the two could have had it in either order. While the store is
// silent, what it said before says nothing, and a try never reports a lock as held that nobody may hold.
//
// A reader that joins a hold of its process does not enter the queue at all (join.go). One that could ask while another
// one of its process does waits for the answer to that: if it is a grant, it joins that, also if the other one had to
// wait for it.
//
// # The states of a waiter
//
// At each time one side may use a waiter's request id, and that side cleans up after it.
//
//	state     who may use the id                      leaving means
//	waiting   nobody; nothing was sent under it       nothing to do
//	waiting   nobody; it asked, and waits again       take its mark away
//	awaiting  nobody; nothing was sent under it       nothing to do
//	enrolled  the registrar, until it is answered     remove the entry, for as long as it may come to be
//	asking    the waiter's own goroutine              take its mark away
//	granted   the holder                              end the hold
//	left      nobody                                  -
//
// Enrolled is waiting, or asking, with an entry in a queue that the store keeps, or an entry being made; while it is
// being made a waiter that may ask is still told to wait, so that one request at a time uses its id. What is known of
// the entry is the waiter's [Place]; it has one if the store keeps a queue for its kind. A hold passes from one to the
// next in one piece: who is next ([Queue.Next]) and that it has it ([Queue.Grant]) are one step under the caller's
// mutex. So are that a reader stops waiting for another's answer and that it has joined ([Queue.Bring]).
//
//	waiting ---> asking --> granted     it asked the store
//	  ^ |          |
//	  | |          '------> waiting     it stepped back: one ahead of it was refused, too, or it has a place
//	  | |                               in the store's queue and asked behind a hold of its process
//	  | '-----------------> granted     a hold passed to it
//	awaiting -------------> granted     it joined the hold that another one's answer brought
//	any -------> left                   its context ended
//
// A waiter is in the queue while it is waiting, awaiting or asking, and no longer. An awaiting waiter is waiting
// again when there is nothing to join, and asks then, if it may.
package localqueue
