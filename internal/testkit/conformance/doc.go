// Package conformance is the contract of a lock of this module, as a test suite: what every caller of
// an [rlock.Locker] may rely on, whichever package made it.
//
// A package of locks runs it on its own locks:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func(t testing.TB, lease time.Duration) conformance.Lab { ... })
//	}
//
// Each case gets its own lab: two clients, as in two processes, and a way to make handles on locks by
// name. The cases run in parallel, so labs must not share a name or a client; they may share a
// server.
//
// # The contract
//
// Exclusion: one owner at a time, over both clients, in one client and over goroutines; a waiter gets
// the lock when the holder leaves; TryLock does not wait and returns ErrBusy, which nothing else
// matches.
//
// Levels: a Lock with the context of a live hold adds a level, at once. Each level is unlocked once,
// from any goroutine, after any context; a second unlock returns ErrNotHeld and changes nothing.
//
// Contexts: Lock returns a child of the context that it was given. It ends with unlock (ErrReleased),
// with a loss (ErrLost) or with the client (ErrClosed), and carries the hold to every callee. On
// error Lock returns the given context, and unlock returns ErrNotHeld.
//
// Errors: if the context has ended, Lock returns its cause and sends nothing. The error of a wait
// that a context ended matches ErrBusy and the context's error; of one that MaxWait ended, only
// ErrBusy.
//
// Moving: if the lock has Export and Import, an exported hold is nobody's until one of them takes it over, with its
// fencing token, and only what Export returned is imported.
//
// Time: a hold is renewed as long as it is held; a fixed lease ends on time.
//
// A lock that cannot do all of that says so in [Lab.Lacks], and the cases concerned are skipped.
package conformance
