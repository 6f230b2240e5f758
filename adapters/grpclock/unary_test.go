package grpclock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/adapters/grpclock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// of makes locks of a client.
func of(client *rlock.Client, opts ...rlock.Option) grpclock.Locks {
	return func(name string) lock.Locker { return rlock.New(client, name, opts...) }
}

func requireFree(t *testing.T, client *rlock.Client, name string) {
	t.Helper()
	_, unlock, err := rlock.New(client, name).TryLock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
}

func requireCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	require.Equal(t, want, status.Code(err), "%v", err)
	require.NotContains(t, fmt.Sprint(err), "rlock", "a client gets no text of a lock's error")
}

func TestTheHandlerHasTheHold(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	client := lab.Client(nil)
	want := error(nil)
	s := &service{unary: func(ctx context.Context) error {
		_, err := rlock.New(client, "a").Held(ctx)
		assert.ErrorIs(t, err, want)
		return nil
	}}
	c := serve(t, s, of(client), grpclock.Stream(of(client), fromMetadata))
	response, err := c.UnaryCall(t.Context(), simple("a"))
	require.NoError(t, err)
	require.Equal(t, "done", response.GetUsername())
	requireFree(t, client, "a")

	want = lock.ErrNotHeld
	_, err = c.UnaryCall(t.Context(), simple(""))
	require.NoError(t, err, "an empty name takes no lock")
}

// The status of the handler is that of the call, and a panic releases the lock as well.
func TestWhatTheHandlerReturns(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	client := lab.Client(nil)
	s := &service{unary: func(context.Context) error { return status.Error(codes.NotFound, "no such order") }}
	c := serve(t, s, of(client), grpclock.Stream(of(client), fromMetadata))
	_, err := c.UnaryCall(t.Context(), simple("a"))
	requireCode(t, codes.NotFound, err)
	requireFree(t, client, "a")

	s.unary = func(context.Context) error { panic("oops") }
	_, err = c.UnaryCall(t.Context(), simple("a"))
	requireCode(t, codes.DataLoss, err)
	requireFree(t, client, "a")
}

// untilOneWaits returns when a call of the client waits.
func untilOneWaits(t *testing.T, client *rlock.Client) {
	redistest.Eventually(t, 30*time.Second, func() bool { return client.Stats().Waiters == 1 }, "it waits")
}

func TestWhenTheLockIsNotToBeHad(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	client := lab.Client(nil)
	inside := &service{unary: func(context.Context) error { t.Error("inside"); return nil }}
	short := of(client, rlock.MaxWait(500*time.Millisecond))
	brief := serve(t, inside, short, grpclock.Stream(short, fromMetadata))
	patient := serve(t, inside, of(client), grpclock.Stream(of(client), fromMetadata))
	release := lab.HoldElsewhere("a")

	_, err := brief.UnaryCall(t.Context(), simple("a"))
	requireCode(t, codes.Aborted, err)

	late, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	_, err = patient.UnaryCall(late, simple("a"))
	requireCode(t, codes.DeadlineExceeded, err)

	leaves, leave := context.WithCancel(t.Context())
	go func() {
		untilOneWaits(t, client)
		leave()
	}()
	_, err = patient.UnaryCall(leaves, simple("a"))
	requireCode(t, codes.Canceled, err)

	// The server learns of both ends a moment after the client.
	redistest.Eventually(t, 30*time.Second, func() bool {
		info, err := rlock.New(client, "a").Inspect(t.Context())
		return err == nil && len(info.Queue) == 0
	}, "nobody waits any more")
	release()
	_, err = brief.UnaryCall(t.Context(), simple(strings.Repeat("a", 1<<16)))
	requireCode(t, codes.InvalidArgument, err)
	lab.Freeze()
	_, err = brief.UnaryCall(t.Context(), simple("a"))
	requireCode(t, codes.Unavailable, err)
	lab.Thaw()
	require.NoError(t, client.Close())
	_, err = brief.UnaryCall(t.Context(), simple("a"))
	requireCode(t, codes.Unavailable, err)
}

// A handler that did its work without the lock is not reported as done, whatever it returns.
func TestALossWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"nil": nil, "a status": status.Error(codes.NotFound, "no such order")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := holdfasttest.New(t)
			client := lab.Client(nil)
			s := &service{unary: func(ctx context.Context) error {
				lab.Lose("a", rlock.LossGone)
				assert.ErrorIs(t, context.Cause(ctx), lock.ErrLost)
				return answer
			}}
			c := serve(t, s, of(client), grpclock.Stream(of(client), fromMetadata))
			_, err := c.UnaryCall(t.Context(), simple("a"))
			requireCode(t, codes.Aborted, err)
			require.ErrorContains(t, err, rlock.LossGone.String())
			requireFree(t, client, "a")
		})
	}
}

// The handler has done its work under the lock, and Redis does not confirm the release: its answer stands (defect F12).
func TestAnUnconfirmedReleaseChangesNoAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"nil": nil, "a status": status.Error(codes.NotFound, "no such order")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lab := holdfasttest.New(t)
				intercept := grpclock.Unary(of(lab.Client(nil), rlock.FixedLease(time.Minute)),
					func(context.Context, string, any) string { return "a" })
				reply, err := intercept(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
					lab.Freeze()
					return "done", answer
				})
				require.Equal(t, answer, err)
				if answer == nil {
					require.Equal(t, "done", reply)
				}
				lab.Thaw()
				time.Sleep(time.Minute)
			})
		})
	}
}

// An interceptor around this one gets the lock's error. A call has a hold of its own, though its context carries one.
func TestInterceptorsGetTheCause(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	l := rlock.New(lab.Client(nil), "a")
	intercept := grpclock.Unary(of(lab.Client(nil), rlock.MaxWait(500*time.Millisecond)),
		func(context.Context, string, any) string { return "a" })
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
		_, err := intercept(ctx, nil, &grpc.UnaryServerInfo{}, nil)
		require.ErrorIs(t, err, lock.ErrBusy)
		require.Equal(t, codes.Aborted, status.Code(err))
		return nil
	}))
}

// On a real server: two processes serve one name, one call at a time.
func TestServers(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	s := &service{unary: func(context.Context) error {
		assert.EqualValues(t, 1, inside.Add(1))
		inside.Add(-1)
		return nil
	}}
	name := redistest.Key(t)
	var all sync.WaitGroup
	for range 2 {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, client.Close()) })
		c := serve(t, s, of(client), grpclock.Stream(of(client), fromMetadata))
		for range 10 {
			all.Go(func() {
				_, err := c.UnaryCall(t.Context(), simple(name))
				assert.NoError(t, err)
			})
		}
	}
	all.Wait()
}

func TestCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		code codes.Code
	}{
		{nil, codes.OK},
		{lock.ErrBusy, codes.Aborted},
		{errors.Join(lock.ErrBusy, context.DeadlineExceeded), codes.DeadlineExceeded},
		{errors.Join(lock.ErrBusy, context.Canceled), codes.Canceled},
		{errors.Join(lock.ErrUnavailable, context.DeadlineExceeded), codes.Unavailable},
		{&lock.LostError{Name: "a"}, codes.Aborted},
		{lock.ErrClosed, codes.Unavailable},
		{&lock.ReleaseError{Name: "a", Err: lock.ErrUnavailable}, codes.OK},
		{errors.Join(&lock.ReleaseError{Name: "a"}, &lock.LostError{Name: "b"}), codes.Aborted},
		{errors.Join(errors.New("the work failed"), &lock.ReleaseError{Name: "a"}), codes.Internal},
		{&lock.ArgumentError{Name: "name"}, codes.InvalidArgument},
		{lock.ErrKeyConflict, codes.FailedPrecondition},
		{lock.ErrNotHeld, codes.Internal},
	} {
		assert.Equal(t, test.code, grpclock.Code(test.err), "%v", test.err)
	}
}
