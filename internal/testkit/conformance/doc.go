// Package conformance is the contract of a lock of this module, as a test suite: what every caller of
// a [lock.Locker] may rely on, whichever package made it.
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
// Connections: what a hold needs is there when Lock returns, and no new connection is needed to renew or release it.
// Silence is held against the connection that brought it: each call is sent again by another one. Every call keeps its
// limit from the first on, whatever was never reached.
//
// The application's code (contexts, observers, loggers, dialers) may use the very lock that called it.
//
// What was learned: a process that was told once that it has a lock asks again before it relies on that, once that can
// have been taken away behind its back; and of two holds that exclude one another it has one.
//
// Ways in: Lock, TryLock, Do, Import and sets owe the same: their ends, their words, what others learn and are told.
//
// Memory: what a client answers without asking the store is what the store would have said to another one.
//
// Others: package multilock takes several of them as one, and package leader tells who holds one.
//
// # What a lock lacks
//
// A lock that cannot do all of that says so in [Lab.Lacks], and the cases concerned are skipped. A store that keeps
// only some leases says so in [Lab.Leases], and every case has leases that it keeps. The suite logs both, once:
//
//	lacks: tries, export, leases below 5s, leases between multiples of 1s
//
// What a lock lacks it refuses with a *lock.ArgumentError, and sends nothing: there are cases of that, too.
//
// The package imports no client of a database, so that a lock on any store runs it. Package onredis makes clients on
// Redis for labs, and package numbers is the contract of what is counted.
package conformance
