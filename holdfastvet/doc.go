// Package holdfastvet finds misuse of the locks of github.com/holdfast-go/holdfast that compiles and goes wrong
// silently: as a tool of go vet, by itself, and as a linter of golangci-lint.
//
//	go install ./holdfastvet/cmd/holdfastvet # in a checkout of github.com/holdfast-go/holdfast
//	go vet -vettool=$(which holdfastvet) ./...
//
// # What it finds
//
// An older context inside the hold: the work does not learn that the lock was lost, and a nested Lock waits for its own
// caller. The context that Lock returned may be there under another name, be thrown away, or shadow the older one in an
// inner block only.
//
//	held, unlock, err := lock.Lock(ctx)
//	...
//	work(ctx) // ctx is older than the hold: use held, which Lock returned
//
// The same in the function that Do is given:
//
//	lock.Do(ctx, func(held context.Context) error {
//		return work(ctx) // ctx is older than the hold of this Do: use the context that the function is given
//	})
//
// An error that nobody looks at before the work, which may then run without the lock:
//
//	held, unlock, _ := lock.TryLock(ctx) // the error of TryLock is thrown away
//
// The error of unlock, which says that the lock was lost, dropped by its defer, or stored where nobody reads it:
//
//	defer unlock()                                      // the error of unlock is dropped
//	defer func() { err = errors.Join(err, unlock()) }() // err is no named result
//
// # What it leaves alone
//
// It tells a lock by what its methods return, so interfaces and wrappers of the application's own are looked at too. It
// is silent where it is not sure. An older context is right before the hold and after it, where the lock was not
// acquired, in a go statement or a defer (which may outlive the hold), for logs, for Inspect and Break, and to make
// another context from; and what other functions are given is not followed.
//
// Tests take locks as strangers and expect errors. In them only what defer loses is looked for, unless the flag
// -holdfast.tests is given.
package holdfastvet
