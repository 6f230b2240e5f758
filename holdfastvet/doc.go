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
//	work(ctx)                                  // ctx is older than the hold: use held, which Lock returned
//	short, cancel := context.WithTimeout(ctx, time.Second)
//	work(short)                                // short is older than the hold
//	<-ctx.Done()                               // ctx is older than the hold
//
// The same in the function that Do or an election's Run is given, and an HTTP request that still has its context:
//
//	lock.Do(r.Context(), func(held context.Context) error {
//		next.ServeHTTP(w, r)                   // r has a context that is older than the hold
//		return lock.Do(context.Background(), f) // this Do does not know that the lock is held
//	})
//
// A lock that nothing unlocks:
//
//	lock.Lock(ctx)                             // all that Lock returned is thrown away
//	held, _, err := lock.Lock(ctx)             // what unlocks is thrown away
//	if work(held) != nil {
//		return                                 // unlock is not called on this way out
//	}
//
// Work that unlock has ended, or will end in the middle:
//
//	unlock()
//	work(held)                                 // held has ended: unlock ended the hold
//	go func() { save(held) }()                 // nothing waits for this goroutine, and held ends with the hold
//
// A lease that changes nothing, because the outermost Lock decided it:
//
//	held, unlock, err := rlock.New(client, "order").Lock(ctx)
//	...
//	rlock.New(client, "order", rlock.FixedLease(time.Minute)).Lock(held) // this FixedLease changes nothing
//
// A call that fails, because its handle refuses the context of a hold:
//
//	lock := rlock.New(client, "order", rlock.NonReentrant())
//	lock.Do(ctx, func(held context.Context) error {
//		return lock.Do(held, work)         // this Do always fails
//	})
//
//	lock.Read().Do(ctx, func(held context.Context) error {
//		return lock.Write().Do(held, work) // this Do fails with ErrUpgrade, unless a caller holds the write side
//	})
//
// An unlock that a loop defers, which runs when the function returns and not when the turn ends:
//
//	for _, name := range names {
//		held, unlock, err := rlock.New(client, name).Lock(ctx)
//		...
//		defer unlock()
//		work(held)
//	}
//
// An error that the code does not look at before the work, which may then run without the lock:
//
//	held, unlock, _ := lock.TryLock(ctx) // the error of TryLock is thrown away
//
// The error of unlock, which says that the lock was lost, or of Do, which may not have called its function, dropped or
// stored where nothing reads it:
//
//	defer unlock()                                      // the error of unlock is dropped
//	unlock()                                            // the error of unlock is dropped
//	lock.Do(ctx, work)                                  // the error of Do is dropped
//	defer func() { err = errors.Join(err, unlock()) }() // err is no named result
//
// It finds the same of the Campaign of an election and its resign, and of permits.
//
// # Why it leaves some code alone
//
// It tells a lock by what its methods return, so it looks at interfaces and wrappers of the application too. It is
// silent where it is not sure. An older context is right before the hold and after it, where the lock was not acquired
// or is known to be lost, in a go statement or a defer (which may outlive the hold), for logs and traces, for Inspect
// and Break, to make another context from, and after context.WithoutCancel, for work that must outlive the hold.
//
// A hold may be meant to stay. So unlock may be missing in main, in a function that closes the client, on a way that
// exports or breaks the hold, and where the handle has a FixedLease; of a handle that was made elsewhere, where the
// package names FixedLease. With MaxHold it may be missing in the whole function, but not on one way only. Elsewhere
// say so: _ = unlock. What is called, stored, returned, sent or passed on is taken to be called at the right time.
//
// The error of unlock may be dropped where something has failed already, which the caller learns of: under err != nil,
// and before a panic. Elsewhere say so: _ = unlock(), and _ = lock.Do(ctx, work).
//
// A loop that defers unlock may gather locks for one piece of work: then it hands the context of each hold on to the
// next Lock, or stores it.
//
// # What it misses
//
// It does not find these mistakes, because correct code can look the same:
//
//   - an unlock that is not deferred, and that a panic therefore skips;
//   - an older context in a field of a struct, or in a function that a variable has;
//   - a goroutine that is cut off in another package;
//   - a lease that changes nothing, or a call that NonReentrant refuses, where the hold comes from another function, or
//     a handle is a field or a parameter;
//   - a write lock inside a read hold that another function took;
//   - a call through a variable that has a method, as in do := lock.Do, or a member of a set that is taken inside it;
//   - an unlock that is called twice, whose error says so when it is;
//   - an error of Lock that is logged only, before the work goes on;
//   - a goroutine that is waited for after unlock, which ends its context, and not before;
//   - an error of unlock or Do that is stored in a variable which nothing reads, as other linters find;
//   - an unlock that is deferred in a branch of a loop;
//   - work in a hold that does not look at its context, and so goes on when the lock is lost;
//   - a context that is kept after Do has returned.
//
// Tests, and other files that import package testing, take locks as strangers and expect errors. In them only what a
// defer loses is looked for, unless the flag -holdfast.tests is given.
//
// # Why a report is true
//
// Each hold is followed along the control flow of its function. What a report says is true on every way that leads to
// its place; where ways meet of which only some hold the lock, the analyzer knows nothing and is silent.
package holdfastvet
