package rlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

var errorsOfAll = []error{
	rlock.ErrBusy, rlock.ErrNotHeld, rlock.ErrLost, rlock.ErrReleased, rlock.ErrClosed,
	rlock.ErrUnavailable, rlock.ErrUnconfirmed, rlock.ErrKeyConflict,
}

// errorsOnly asserts that err is one word of the vocabulary and no other.
func errorsOnly(t *testing.T, err, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	for _, word := range errorsOfAll {
		if word != want {
			require.NotErrorIs(t, err, word)
		}
	}
	require.NotContains(t, err.Error(), "\n")
}

// errorsLab is a lock behind a proxy, and the same lock past it.
type errorsLab struct {
	server       *redistest.Server
	proxy        *faultproxy.Proxy
	rdb          *redis.Client
	client       *rlock.Client
	lock, direct *rlock.Lock
}

const errorsLease = 1200 * time.Millisecond // one command's limit is a sixth

func newErrorsLab(t *testing.T) *errorsLab {
	t.Helper()
	lab := &errorsLab{server: redistest.Start(t)}
	lab.proxy = faultproxy.Start(t, lab.server.Addr())
	lab.rdb = lab.server.Client(t)
	lab.client = conductClient(t, lab.proxy.Addr(), &rlock.ClientOptions{
		Lease: errorsLease, ReleaseTimeout: 500 * time.Millisecond,
	})
	lab.lock = rlock.New(lab.client, "l")
	lab.direct = rlock.New(conductClient(t, lab.server.Addr(), nil), "l")
	return lab
}

func (lab *errorsLab) try(t *testing.T) error {
	_, _, err := lab.lock.TryLock(conductCtx(t))
	return err
}

func (lab *errorsLab) wait(ctx context.Context) error {
	_, _, err := lab.lock.Lock(ctx)
	return err
}

// taken has the lock held by another client.
func (lab *errorsLab) taken(t *testing.T) {
	_, unlock := conductTake(t, conductCtx(t), lab.direct)
	t.Cleanup(func() { _ = unlock() })
}

// errorsSituations: what it is, what else it matches, and what it must not match.
var errorsSituations = map[string]struct {
	is, also, not error
	call          func(t *testing.T, lab *errorsLab) error
}{
	"TryLock of a busy lock": {rlock.ErrBusy, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error { lab.taken(t); return lab.try(t) }},
	"TryLock behind a local holder": {rlock.ErrBusy, nil, nil,
		func(t *testing.T, lab *errorsLab) error {
			_, _ = conductTake(t, conductCtx(t), lab.lock)
			return lab.try(t)
		}},
	"a deadline while it is busy": {rlock.ErrBusy, context.DeadlineExceeded, context.Canceled,
		func(t *testing.T, lab *errorsLab) error { lab.taken(t); return lab.wait(errorsSoon(t)) }},
	"a deadline while Redis is silent": {rlock.ErrUnavailable, context.DeadlineExceeded, nil,
		func(t *testing.T, lab *errorsLab) error {
			lab.proxy.Blackhole(true)
			return lab.wait(errorsSoon(t))
		}},
	"a deadline while Redis falls silent": {rlock.ErrUnavailable, context.DeadlineExceeded, nil,
		errorsFallsSilent},
	"Redis silent for a lease": {rlock.ErrUnavailable, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error {
			lab.proxy.Blackhole(true)
			return lab.wait(conductCtx(t))
		}},
	"TryLock while Redis is silent": {rlock.ErrUnavailable, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error { lab.proxy.Blackhole(true); return lab.try(t) }},
	"TryLock while Redis is stopped": {rlock.ErrUnavailable, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error { lab.server.Stop(); return lab.try(t) }},
	"TryLock while Redis is gone": {rlock.ErrUnavailable, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error { lab.server.Kill(); return lab.try(t) }},
	"MaxWait while Redis is silent": {rlock.ErrUnavailable, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error {
			lab.proxy.Blackhole(true)
			lock := rlock.New(lab.client, "l", rlock.MaxWait(300*time.Millisecond))
			_, _, err := lock.Lock(conductCtx(t))
			return err
		}},
	"Inspect while Redis is silent": {rlock.ErrUnavailable, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error {
			lab.proxy.Blackhole(true)
			_, err := lab.lock.Inspect(conductCtx(t))
			return err
		}},
	"unlock while Redis is silent": {rlock.ErrUnconfirmed, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error {
			_, unlock := conductTake(t, conductCtx(t), lab.lock)
			lab.proxy.Blackhole(true)
			return unlock()
		}},
	"unlock of what Redis forgot": {rlock.ErrLost, nil, nil,
		func(t *testing.T, lab *errorsLab) error {
			_, unlock := conductTake(t, conductCtx(t), lab.lock)
			lab.server.FlushAll(t)
			return unlock()
		}},
	"re-entry of a lost hold": {rlock.ErrLost, nil, context.DeadlineExceeded,
		func(t *testing.T, lab *errorsLab) error {
			held, _ := conductTake(t, conductCtx(t), lab.lock)
			lab.server.FlushAll(t)
			<-held.Done()
			return lab.wait(context.WithoutCancel(held))
		}},
	"Held of a lost hold": {rlock.ErrLost, nil, nil,
		func(t *testing.T, lab *errorsLab) error {
			held, _ := conductTake(t, conductCtx(t), lab.lock)
			lab.server.FlushAll(t)
			<-held.Done()
			_, err := lab.lock.Held(held)
			return err
		}},
	"Break of a free lock": {rlock.ErrNotHeld, nil, nil,
		func(t *testing.T, lab *errorsLab) error { return lab.lock.Break(conductCtx(t)) }},
	"Export without a hold": {rlock.ErrNotHeld, nil, nil,
		func(t *testing.T, lab *errorsLab) error {
			_, err := lab.lock.Export(conductCtx(t))
			return err
		}},
	"Import for the second time": {rlock.ErrNotHeld, nil, rlock.ErrBusy, errorsImportTwice},
	"a string at the key": {rlock.ErrKeyConflict, nil, rlock.ErrUnavailable,
		func(t *testing.T, lab *errorsLab) error {
			require.NoError(t, lab.rdb.Set(t.Context(), "l", "x", 0).Err())
			return lab.wait(conductCtx(t))
		}},
	"a closed client": {rlock.ErrClosed, nil, rlock.ErrUnavailable,
		func(t *testing.T, lab *errorsLab) error {
			require.NoError(t, lab.client.Close())
			return lab.wait(conductCtx(t))
		}},
}

// Need 10: every situation has one word, and no word is two situations'. Above all: taken, and Redis
// not there, are different things (redsync PR#32); a time limit of ours never looks like the caller's
// (rueidis#630).
func TestEverySituationHasItsError(t *testing.T) {
	t.Parallel()
	for name, test := range errorsSituations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.call(t, newErrorsLab(t))
			errorsOnly(t, err, test.is)
			if test.also != nil {
				require.ErrorIs(t, err, test.also)
			}
			if test.not != nil {
				require.NotErrorIs(t, err, test.not)
			}
		})
	}
}

// errorsSoon is a caller's context that ends in the middle of things.
func errorsSoon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(conductCtx(t), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// errorsFallsSilent: the lock was busy once, but that is not the last answer: there was none.
func errorsFallsSilent(t *testing.T, lab *errorsLab) error {
	lab.taken(t)
	ctx, cancel := context.WithTimeout(conductCtx(t), errorsLease)
	t.Cleanup(cancel)
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		redistest.Eventually(t, conductLimit, func() bool {
			return lab.proxy.Requests(conductScript("acquire")) >= 2
		}, "it asked")
		lab.proxy.Blackhole(true)
	}()
	lock := rlock.New(conductClient(t, lab.proxy.Addr(), &rlock.ClientOptions{
		Lease: errorsLease, MaxPoll: 50 * time.Millisecond, ReleaseTimeout: time.Second,
	}), "l")
	_, _, err := lock.Lock(ctx)
	<-quiet
	return err
}

func errorsImportTwice(t *testing.T, lab *errorsLab) error {
	held, _ := conductTake(t, conductCtx(t), lab.lock)
	token, err := lab.lock.Export(held)
	require.NoError(t, err)
	_, unlock, err := lab.direct.Import(conductCtx(t), token)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unlock() })
	_, _, err = lab.lock.Import(conductCtx(t), token)
	return err
}

// Need 10: ErrUnavailable wraps Redis's error. A call waits for a state that passes, and returns any other
// at once.
func TestErrorsOfRedisAreWrapped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare []any
		prefix  string
	}{
		"full memory":   {[]any{"CONFIG", "SET", "maxmemory", "1"}, "OOM"},
		"replica":       {[]any{"REPLICAOF", "127.0.0.1", "1"}, "READONLY"},
		"wrong user":    {[]any{"ACL", "SETUSER", "default", "-eval", "-evalsha"}, "NOPERM"},
		"password":      {[]any{"CONFIG", "SET", "requirepass", "secret"}, "NOAUTH"},
		"wrong command": {[]any{"ACL", "SETUSER", "default", "-hset"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newErrorsLab(t)
			require.NoError(t, lab.rdb.Do(t.Context(), test.prepare...).Err())
			err := lab.try(t)
			errorsOnly(t, err, rlock.ErrUnavailable)
			var said redis.Error
			require.True(t, errors.As(err, &said), "%v", err)
			require.Contains(t, err.Error(), test.prefix)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, `"l"`, "the error names the lock")
		})
	}
}

// Need 21, Redis comes back: whatever was answered before, the wait goes on and ends with the lock.
func TestAWaitOutlivesPassingErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ ill, well []any }{
		"full memory": {[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}},
		"replica":     {[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}},
		"few replicas": {
			[]any{"CONFIG", "SET", "min-replicas-to-write", "1"},
			[]any{"CONFIG", "SET", "min-replicas-to-write", "0"},
		},
		"script flush": {[]any{"SCRIPT", "FLUSH"}, []any{"SCRIPT", "FLUSH"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			rdb := server.Client(t)
			lock := rlock.New(conductClient(t, proxy.Addr(), nil), "l")
			require.NoError(t, rdb.Do(t.Context(), test.ill...).Err())
			got := make(chan conductGrant, 1)
			go func() {
				held, unlock, err := lock.Lock(conductCtx(t))
				got <- conductGrant{held, unlock, err}
			}()
			redistest.Eventually(t, conductLimit, func() bool {
				return proxy.Requests(conductScript("acquire")) >= 2
			}, "it was tried")
			require.NoError(t, rdb.Do(t.Context(), test.well...).Err())
			g := conductAwait(t, got, "the wait ends with the lock")
			require.NoError(t, g.err)
			require.NoError(t, g.unlock())
		})
	}
}
