package grpclock

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/lock"
)

// Locks returns the lock of a name, of any kind and with any option of this module.
type Locks func(name string) lock.Locker

// Name returns the name of the lock for a request. Method is the full method, such as "/shop.Orders/Pay". With an
// empty name the call takes no lock.
type Name func(ctx context.Context, method string, request any) string

// Unary returns an interceptor that takes the lock that name chooses for each request, and waits for it as long as
// the client and MaxWait of the lock allow.
func Unary(locks Locks, name Name) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		n := name(ctx, info.FullMethod, request)
		if n == "" {
			return next(ctx, request)
		}
		var response any
		err := under(ctx, locks(n), func(held context.Context) (err error) {
			response, err = next(held, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		return response, nil
	}
}

// Stream returns an interceptor that takes a lock before the handler runs. Its name comes from the context, which has
// the metadata of the call.
func Stream(locks Locks, name func(ctx context.Context, method string) string) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		n := name(ss.Context(), info.FullMethod)
		if n == "" {
			return next(srv, ss)
		}
		return under(ss.Context(), locks(n), func(held context.Context) error {
			return next(srv, &heldStream{ServerStream: ss, ctx: held})
		})
	}
}

// under runs handler with the lock held, and returns the status of the call.
func under(ctx context.Context, l lock.Locker, handler func(held context.Context) error) error {
	var ran bool
	var answer error
	err := l.Do(lock.WithoutHolds(ctx), func(held context.Context) error {
		ran = true
		answer = handler(held)
		return nil
	})
	if !ran {
		return refused(ctx, err)
	}
	return finished(answer, err)
}

// heldStream is a stream whose context carries a hold.
type heldStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *heldStream) Context() context.Context { return s.ctx }

// StreamByFirstMessage returns an interceptor that takes the lock that name chooses for the first message, before the
// handler gets that message. What the handler does earlier, it does without the lock. If the lock is refused, each
// receive returns the status, which is also that of the call, whatever the handler returns. So it is if the handler
// returns while a goroutine of it still waits for the lock: that is Canceled.
func StreamByFirstMessage(locks Locks, name Name) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		ctx, end := context.WithCancel(ss.Context())
		s := &firstStream{ServerStream: ss, locks: locks, name: name, method: info.FullMethod, ctx: ctx}
		defer func() {
			end() // the wait of a goroutine that still receives
			err = s.finish(err)
		}()
		return next(srv, s)
	}
}

// firstStream takes its lock with the first message.
type firstStream struct {
	grpc.ServerStream
	locks  Locks
	name   Name
	method string

	taking sync.Mutex // held while the lock is taken; before mu
	taken  bool       // the first message was seen, or the handler has returned

	mu      sync.Mutex
	ctx     context.Context
	unlock  func() error // nil without a hold
	refused error
}

// Context implements grpc.ServerStream. From the first message on, it carries the hold.
func (s *firstStream) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// RecvMsg implements grpc.ServerStream.
func (s *firstStream) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	return s.take(message)
}

// take takes the lock for the first message, and returns the refusal for each.
func (s *firstStream) take(message any) error {
	s.taking.Lock()
	defer s.taking.Unlock()
	if s.taken {
		return s.refused
	}
	s.taken = true
	n := s.name(s.ctx, s.method, message)
	if n == "" {
		return nil
	}
	held, unlock, err := s.locks(n).Lock(lock.WithoutHolds(s.ctx))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.refused = refused(s.ServerStream.Context(), err)
		return s.refused
	}
	s.ctx, s.unlock = held, unlock
	return nil
}

// finish releases the lock, and returns the status of a call whose handler returned answer.
func (s *firstStream) finish(answer error) error {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.taken = true
	switch {
	case s.refused != nil:
		return s.refused
	case s.unlock == nil:
		return answer
	}
	return finished(answer, s.unlock())
}
