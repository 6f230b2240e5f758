// Package engine is what all locks have in common: waiting, waking, passing, renewing, losing, releasing and cleaning
// up. A primitive adds a [store.Protocol]: its requests, its channel name, and which holds exclude each other. A
// [store.Store] carries the requests out. This package knows neither Redis nor go-redis.
//
// # Who decides
//
// The store decides which client holds a lock; the engine decides what follows from its answers. The rules are in four
// packages, and this one combines them:
//
//   - package hold says how long a grant is valid, who has it, and how it ends;
//   - package localqueue says which caller of this process may ask for a key, and which is next;
//   - package request sends a request until its outcome is known;
//   - a [store.Store] carries it out.
//
// # Why nothing counts twice
//
// Every Lock call that asks the store has an id of its own. All its attempts use it, and so do the turns that its hold
// is passed on to; nothing else ever does. Acquisition and last release name that id, so a copy that is late, resent or
// duplicated finds its work done or its hold gone, and cannot touch a later one. A store repeats nothing; the engine
// repeats, and so knows what a second answer means: "not there" is a loss on the first try, and the first try's own
// work on a later one. Only the count of a hold's levels may be wrong for a while after a late copy, and nobody decides
// by it.
//
// # Why nothing is left behind
//
// A request that creates a hold says how late it may be carried out. An acquisition whose outcome is unknown, because
// the reply was lost or nobody waited for it any more, is given to the ledger, which releases the id until the store
// says that no copy can take effect any more.
//
// # What if
//
// Each request is written with four questions in mind. The answers, for the requests that this package sends:
//
// An acquisition (attempt.go).
//   - The reply is lost after the effect: the next attempt has the same id and is answered "already"; validity counts
//     from the first sending. Without a next attempt the id is disowned.
//   - The reply comes late: it is used if the caller still waits, and its hold is valid for what is left of the lease.
//     If nothing is left, or the caller has gone, the id is released.
//   - The context ends: the caller leaves at once, and the goroutine that waits for the reply cleans up.
//   - The process stops for a minute: a request that had not left is too late for the store; a hold that was granted is
//     over by the clock before its caller gets to see it.
//
// A release (unlock.go).
//   - Lost after the effect: the next sending finds the id gone, which then is no loss.
//   - Late: the id is never used again, so a copy that comes later finds nothing.
//   - The context ends: it has none but the release timeout; after that the ledger goes on.
//   - The process stops: the contexts have ended before; the lock is free when its lease is over.
//
// A step of the count of levels (grant.go). Nobody waits for it.
//   - Lost after the effect: the next step is answered what stands, and the one after it starts from there.
//   - Late: the hold is gone, and nothing is written; or the count is wrong until the next step. Nobody decides by it.
//   - It has no context, and carries no lease: nothing depends on when it comes.
//
// A renewal (grant.go).
//   - Lost after the effect: the lease is longer than is known here, and the hold ends earlier than it must.
//   - Late: an answer counts from the sending. If validity is over by then, it revives nothing.
//   - The process stops: the wheel ends what is over before it renews anything.
//
// A registration in a fair lock's queue (queue.go).
//   - Lost after the effect: the waiter is registered again, and keeps the place that it has; if it leaves, the place
//     is taken away, until no copy can come.
//   - Late: as with an acquisition, the store does not carry it out.
//   - The process stops: its client is taken for dead, learns of it when it goes on, and gets its places back.
//
// An export and an import (transfer.go), and an acquisition of a set (lockset.go), are acquisitions. A change that
// nobody holds (take.go) is remembered by its id in the store, until it cannot come again. A look (inspect.go) changes
// nothing.
//
// # The queue of a key
//
// For each key the callers of one process queue, and only the first asks the store, so the work for a turn does not
// grow with the number of waiters. Package localqueue decides which caller that is, which is next, how long a run of
// turns goes on, and what a waiter that leaves has to clean up. It sends nothing. A Key (key.go) has the queue and the
// grants of one name, and the table finds it.
//
// When a holder of this process is done, the next in the queue gets the grant that the store knows: in memory, with a
// Hold, a context and a fencing token of its own (see unlock.go). When a run of such turns has taken some time, or if
// passing in memory is not possible, the lock is released. If only this process received the message of that release,
// its next waiter asks at once. Otherwise this process owes a turn to each of the others (the fairness debt): it waits
// for as many releases as there were other receivers, counted by their messages. If none comes for some milliseconds it
// asks. So processes take turns, and one that is slower to wake has its turn too. A caller behind which nobody of its
// process waits may come back at once, before anybody else has heard of the release; so the debt is kept, with the
// key's queue, for some milliseconds after everybody has gone (table.go).
//
// Example: three processes listen for a key. Process A releases it, and the reply says that 3 received the message. A's
// debt is 2. B gets the lock and releases it: the debt is 1. C does: it is 0, and A asks. If C had no waiter left, no
// message would come, and A would ask after the pause. Package localqueue has the whole rule (debt.go).
//
// Readers do not pass a grant on, since they share it: a reader joins a grant of its process (see join.go).
//
// # What observers are told
//
// A call that begins something is told of when it begins and when it returns, and its hold when it is there and when it
// is over (events.go). A dashboard adds these up, so each beginning must have one end, whatever happens in between.
// The rules that make this true:
//
//   - A call is told of in its own goroutine, by one function that frames everything the call may do (lock.go, take.go,
//     transfer.go). So its end cannot be missed, and comes once. What begins nothing, as a re-entry or an argument that
//     is refused, is told of neither way.
//   - A hold is told of by the call that got it, before anybody else sees a level of it. Its [hold.Owner] is what all
//     levels of the call lead to, and the only place where its end is decided: what reports it first, tells.
//   - Package hold says whose hold has ended, under its mutex, since it alone knows whether another level of the same
//     call lives on. It may name an owner twice, to an unlock and to a loss at the same moment, and never not at all.
//   - What ends a hold from within the call of its owner tells there, with the error that the caller gets: an unlock,
//     an export. What ends it from elsewhere tells through a stream of the events: a loss, a limit of its time, Close.
//
// What can come between the two halves, and who tells then:
//
//   - The hold is lost while the observer is told that it is there: the level cannot be made any more, and the call
//     reports the end before it goes on waiting.
//   - An unlock is on its way to the store when the hold is lost: both find the owner, and one of them tells. Either
//     error is true.
//   - Unlock passes the grant on in memory: the owner's Hold is over, and the next one begins with an owner of its
//     own, so that the two have different lengths and different callers.
//   - A level is given up before its caller saw it, because the caller left: it has no owner yet, and nobody is told.
//   - The client is closed while levels are out: each owner is told once, whatever its caller unlocks afterwards.
//   - Several locks are taken as one: the members have no owners; the set has one, which is tied to the levels of all,
//     and the first of them that is lost ends it for all.
//
// The store reports commands (see [store.Host]), since it alone knows what was sent, and when. It does so where many
// callers wait for their answers, so the observer is told through a stream that may drop an event.
//
// Nobody pays who does not ask. Without an observer no owner is made, and asking for one is a comparison with nil.
//
// The functions of an observer are the application's, so they run without a mutex, and a panic in one of them is logged
// and goes no further. Those that follow from a loss run in an order, one after another, in the goroutine of a stream,
// which Close joins; a stream of losses grows as long as the application blocks it, because a loss that is not told
// would be counted as a hold for ever.
//
// # The mutexes
//
// A [Key], the ender and each stream of the events have a mutex each, and package request has its own. A Key's guards
// its grants too; it is taken first, and no goroutine has two of them. A stream's, the ender's and the watchdog's are
// innermost. None is held across a network call, a call of the application's functions, or the end of a context.
package engine
