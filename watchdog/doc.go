// Package watchdog renews many leases in few calls, and tells in time when one
// can no longer be believed in. It knows neither locks nor Redis: it is given a
// function that renews a batch, and leases.
//
// Three parts build on one another. A [Clock] tells the time, suspended machines
// included. A [Wheel] calls functions at instants of a clock, any number of them
// with one goroutine. A [Watchdog] decides by the wheel when a [Lease] is to be
// renewed and when it is lost.
//
// # Who decides
//
// Redis decides who holds what; it drops a hold when the lease runs out. The
// local clock decides one thing only: when the holder must stop believing. That
// is safe if the belief ends first, always:
//
//   - Validity counts from the start of the call that granted or renewed the
//     lease. Redis carried it out later than that, so its lease ends later.
//   - From that, [Margin] is taken off: for clocks that run at different rates,
//     for the granularity of expiry, and for one tick.
//   - The wheel rounds down. A lease is lost up to one tick before its validity
//     ends, and never after it by design.
//   - The clock counts the time that a machine was suspended, as soon as the
//     machine runs again. While it is stopped, no code can tell anybody: whoever
//     acts for a holder can ask [Lease.ValidUntil], and fencing tokens guard
//     what is left.
//   - The end of validity waits for nothing. A call that hangs, a queue that is
//     long or a shard that is down delays renewals, never the loss.
//   - What arrives late is not believed. An answer for a lease that was lost or
//     stopped is dropped, an answer whose validity is over is a failure, and an
//     answer to a call that [Watchdog.Guard] or [Watchdog.Shorten] overtook is
//     not counted. A lost lease is never revived.
//
// # The life of a lease
//
//	          Keep, Guard             Stop
//	unused ------------------> live ---------> stopped
//	                            |
//	                            | end of validity, ErrGone (Lost is called);
//	                            | Lose (silent)
//	                            v
//	                           lost
//
// The step out of live is made under the lease's lock, once. Whoever makes it
// has the say, so Lost is called at most once, and never if Stop made it. An
// unused lease that is stopped stays stopped: a Keep that comes late, from
// another goroutine, changes nothing.
//
// A live lease is kept or guarded. A guarded one is not renewed and ends with
// its validity. A kept one is renewed a Period after the start of the last
// confirmed call. If the answer is [ErrGone], it is lost at once; after any other
// failure the renewal is tried again, every Retry, for as long as it is valid.
//
// # Goroutines
//
// The wheel has one, and every shard with leases that are due has one for as
// long as that lasts: not one per lease, and none when there is nothing to do.
// The calls of a shard follow one another, so that a slow Redis is not given
// more calls for being slow. Close joins them all.
//
// # Failure
//
// Renew that ignores its context blocks its shard, whose leases are then lost in
// time; Close waits for it. A Lost or Renewed that blocks delays every lease of
// the wheel, which nothing can make good: hand long work to a goroutine, or call
// [Wheel.Relieve] first.
package watchdog
