// Package conformance is the contract of a lock of this module, as a test suite: what everybody
// may rely on who holds an [rlock.Locker], whichever package made it.
//
// A package of locks runs it over its own:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab { ... })
//	}
//
// Each case gets a lab of its own: two clients, as two processes would have them, and a way to make
// handles on locks by name. The cases run in parallel, so a lab must not share a name or a client
// with another one; a server it may share.
//
// # The contract
//
// Exclusion: one owner at a time, over both clients, in one client and over goroutines; a waiter gets
// in when the holder leaves; TryLock does not wait and answers ErrBusy, which nothing else matches.
//
// Levels: a Lock with the context of a live hold is one more level, at once. Each level is unlocked
// once, from any goroutine, after any context; the second time it is ErrNotHeld, and nothing changes.
//
// Contexts: what Lock returns is a child of what it was given, ends with unlock (ErrReleased), with
// a loss (ErrLost) or with the client (ErrClosed), and carries the hold to whoever is given it. On
// error it is the one that was given, and unlock returns ErrNotHeld.
//
// Errors: a context that is over is answered with its cause, and nothing is sent. A wait that a
// context ended matches ErrBusy and the context's error; one that MaxWait ended only ErrBusy.
//
// Time: what is held is renewed for as long as it is held; a lease that is fixed ends on time.
//
// Locks that cannot do all of that say so in [Lab.Lacks], and the cases in question are left out.
package conformance
