// Package watchdog renews many leases in few calls, and reports in time when a
// lease must no longer be relied on. It knows neither locks nor a database: its user
// passes a function that renews a batch, and leases.
//
// It has three parts, each built on the one before. A [Clock] tells the time and
// counts suspensions of the machine. A [Wheel] calls functions at instants of a
// clock, any number of them with one goroutine. A [Watchdog] uses the wheel to
// decide when a [Lease] is renewed and when it is lost.
//
// # Who decides
//
// The store decides who holds what; it drops a hold when the lease ends. The local
// clock decides one thing only: when the holder must stop relying on the hold.
// That is safe if the holder always stops first:
//
//   - Validity counts from the start of the call that granted or renewed the
//     lease. The store carried out the call later than that, so its lease ends later.
//   - [Margin] is subtracted from it: for clocks that run at different rates,
//     for the granularity of expiry, and for one tick.
//   - The wheel rounds down. By design a lease is lost up to one tick before its validity
//     ends, and never after it.
//   - The clock counts the time that a machine was suspended, as soon as the
//     machine runs again. While it is stopped, no code can report anything: code that
//     acts for a holder can check [Lease.ValidUntil], and fencing tokens cover
//     the rest.
//   - The end of validity waits for nothing. A call that hangs, a long queue
//     or a shard that is down delays renewals, never the loss.
//   - Late answers do not count. An answer for a lease that was lost or
//     stopped is dropped, an answer whose validity is over is a failure, and an
//     answer to a call that [Watchdog.Guard] overtook is ignored. A lost lease is
//     never revived.
//
// # The life of a lease
//
//	         Renew, Guard             Stop
//	unused ------------------> live ---------> stopped
//	                            |
//	                            | end of validity, ErrGone (Lost is called);
//	                            | Lose (silent)
//	                            v
//	                           lost
//
// The transition out of live happens under the lease's lock, once. The call that
// makes it decides the outcome, so Lost is called at most once, and never if
// Stop made it. An unused lease that is stopped stays stopped: a late Renew from
// another goroutine changes nothing.
//
// A live lease is guarded, or it is renewed. A guarded one ends with its validity,
// and is never renewed again. The other is renewed a Period after the start of the last
// confirmed call. If the answer is [ErrGone], the lease is lost at once; after
// any other failure the renewal is retried, every Retry, while the lease is
// valid.
//
// # Goroutines
//
// The wheel has one goroutine. A shard has one while any of its leases are due.
// So there is not one per lease, and none when there is nothing to do. The calls
// of a shard follow one another, so a slow store is not given more calls because
// it is slow. Close joins all goroutines.
//
// # Failure
//
// A Renew that ignores its context blocks its shard. The shard's leases are
// still lost in time; Close waits for the Renew. A Lost or Renewed that blocks
// delays every lease of the wheel, and nothing can compensate for that: move
// long work to another goroutine.
package watchdog
