// Package httplock takes a lock for each HTTP request, for as long as its handler runs.
//
//	orders := httplock.Middleware(func(r *http.Request) rlock.Locker {
//		return rlock.New(client, "order:"+r.PathValue("id"), rlock.MaxWait(2*time.Second))
//	})
//	mux.Handle("POST /orders/{id}", orders(handler))
//
// The handler's r.Context() carries the hold: it ends when the lock is lost, and a nested Lock with it re-enters.
//
// # Rules
//
//  1. Bound the wait: by MaxWait of the lock or by a deadline on the request's context. A client that leaves ends
//     its request's context, and so its wait, but net/http notices that only when the request's body has been read.
//  2. Take the context from the request that the handler gets, and none from outside.
//  3. Wrap the handler last, so that what reads the path or signs the user in runs before the lock is taken. With
//     [net/http.Request.PathValue] wrap the handler and not the mux.
//
// # What is answered
//
//	the lock is busy until the wait ends                         423 Locked, Retry-After: 1
//	the store does not answer, or the client of locks is closed  503 Service Unavailable, Retry-After: 1
//	the lock is lost before the handler wrote anything           503 Service Unavailable, Retry-After: 1
//	the lock is lost afterwards                                  what the handler wrote
//	the store does not confirm the release                       what the handler wrote
//	the client left                                              nothing
//	any other error of the lock                                  500 Internal Server Error
//
// [Status] has the same table for handlers that lock by themselves. 423 and not 409: a conflict is one with the
// state of the resource, which a client has to resolve before it tries again; here it only has to wait.
//
// No answer says why, since texts of errors name locks. [OnRefusal] tells it; without it slog's default logger has it,
// but for 423.
//
// A loss ends the handler's context at once, and is answered when the handler has returned: until then it could
// still write. A handler that looks at its context before it answers never reports work that it did without the
// lock.
//
// # What is promised, and what is not
//
// One handler at a time runs under a name, with the promises and limits of package rlock. Each request has a hold of
// its own, whatever its context carried before. The lock is released when the handler has returned or panicked, and
// before a small answer, which net/http buffers, has been sent. A handler that takes over the connection (Hijack) or
// starts goroutines that outlive it must not rely on the lock there.
package httplock
