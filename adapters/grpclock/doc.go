// Package grpclock takes a lock for each gRPC call, for as long as its handler runs.
//
//	locks := func(name string) lock.Locker {
//		return rlock.New(client, name, rlock.MaxWait(2*time.Second))
//	}
//	server := grpc.NewServer(grpc.UnaryInterceptor(grpclock.Unary(locks,
//		func(_ context.Context, _ string, request any) string {
//			if r, ok := request.(*shop.PayRequest); ok {
//				return "order:" + r.GetOrderId()
//			}
//			return "" // no lock
//		})))
//
// The handler's context carries the hold: it ends when the lock is lost, and a nested Lock with it re-enters.
//
// # Rules
//
//  1. Bound the wait: by MaxWait of the locks or by a deadline of the client, which gRPC passes on.
//  2. Take the context from the handler's arguments or from its stream, and none from outside.
//  3. Put this interceptor last in a chain, so that what signs the user in runs before the lock is taken.
//  4. With [StreamByFirstMessage], call the stream's Context after the first message was received. A handler of a
//     call with one request and many answers gets its request first and has nothing to heed.
//
// # What is answered
//
//	the lock is busy until MaxWait elapses       Aborted
//	the client's deadline ends, or it cancels    DeadlineExceeded, Canceled
//	the store does not answer                    Unavailable
//	the client of locks is closed                Unavailable
//	the lock is lost before the handler returns  Aborted, and the reason; what a stream has sent stands
//	the store does not confirm the release       what the handler returned
//	the name is not a valid one                  InvalidArgument
//	something else has the lock's key            FailedPrecondition
//	any other error of the lock                  Internal
//
// [Code] has the same table for handlers that lock by themselves. Clients get a text without the lock's name; an
// interceptor around this one gets an error that also matches the lock's error with errors.Is.
//
// # What is promised, and what is not
//
// One handler at a time runs under a name, with the promises and limits of package rlock. Each call has a hold of its
// own, whatever its context carried before. The lock is released when the handler has returned or panicked, and
// before the client gets the status. If the store does not confirm the release, the handler's answer stands, and the
// release goes on in the background. A handler that leaves goroutines behind must not rely on the lock there.
//
// A loss ends the handler's context at once. Its status is sent when the handler has returned, and takes the place of
// the handler's, because work that went on without the lock must not be reported as done.
package grpclock
