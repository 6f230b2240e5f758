package luacall_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

func TestRunAfterScriptFlush(t *testing.T) {
	p := newPlace(t, startServer(t).Client(t))
	calls := []func() error{
		func() error { _, err := p.acquire(alice).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.levels(alice, 1, 2).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.renew(alice, lease).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.inspect().Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.levels(alice, 2, 1).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.mintFor(alice).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.adopt(alice, carol).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.retain(carol, bob, never>>10).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.release(bob).Run(t.Context(), p.rdb); return err },
	}
	for range 2 {
		for _, call := range calls {
			p.do("SCRIPT FLUSH")
			require.NoError(t, call())
		}
		p.free()
	}
}

// The script goes over the wire in full only where it is not known.
func TestRunSendsTheDigestAgain(t *testing.T) {
	server := startServer(t)
	p := newPlace(t, server.Client(t))
	call := p.acquire(alice)
	for range 5 {
		run(p, call)
		luacall.RunAll(t.Context(), p.rdb, []*luacall.Call[luacall.AcquireReply]{call})
		require.NoError(t, call.Err)
	}
	require.Equal(t, int64(1), server.Calls(t, "eval"))
}

func TestRunAll(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		places := []*place{p, newPlace(t, p.rdb), newPlace(t, p.rdb), newPlace(t, p.rdb)}
		run(places[1], places[1].acquire(bob))
		p.do("SET %s x", places[2].lock)
		bad := luacall.Acquire(luacall.AcquireArgs{})

		for _, flush := range []bool{true, false, true} {
			if flush {
				p.do("SCRIPT FLUSH")
			}
			calls := []*luacall.Call[luacall.AcquireReply]{bad}
			for _, p := range places {
				calls = append(calls, p.acquire(alice))
			}
			luacall.RunAll(t.Context(), p.rdb, calls)
			require.ErrorContains(t, calls[0].Err, "lua: acquire")
			require.NoError(t, calls[1].Err)
			require.Contains(t, []luacall.Status{luacall.Held, luacall.Already}, calls[1].Reply.Status)
			require.NoError(t, calls[2].Err)
			require.Equal(t, luacall.Busy, calls[2].Reply.Status)
			require.ErrorIs(t, calls[3].Err, luacall.ErrConflict)
			require.NoError(t, calls[4].Err)
			p.heldOnce(alice)
			places[3].heldOnce(alice)
		}
		luacall.RunAll(t.Context(), p.rdb, []*luacall.Call[luacall.AcquireReply]{bad})
		luacall.RunAll[luacall.AcquireReply](t.Context(), p.rdb, nil)
	})
}

// A call that is used again carries nothing over from the last time.
func TestRunAllAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		calls := []*luacall.Call[luacall.AcquireReply]{p.acquire(alice)}
		p.do("SET %s x", p.lock)
		luacall.RunAll(t.Context(), p.rdb, calls)
		require.ErrorIs(t, calls[0].Err, luacall.ErrConflict)
		p.do("DEL %s", p.lock)
		luacall.RunAll(t.Context(), p.rdb, calls)
		require.NoError(t, calls[0].Err)
		require.Equal(t, luacall.Held, calls[0].Reply.Status)
		p.do("SET %s x", p.lock)
		luacall.RunAll(t.Context(), p.rdb, calls)
		require.ErrorIs(t, calls[0].Err, luacall.ErrConflict)
		require.Zero(t, calls[0].Reply)
	})
}

// A hook may end a pipeline without sending it; that is not an answer.
func TestRunAllThatWasNotSent(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		p.rdb.AddHook(silence{})
		calls := []*luacall.Call[luacall.AcquireReply]{p.acquire(alice)}
		luacall.RunAll(t.Context(), p.rdb, calls)
		require.Error(t, calls[0].Err)
	})
}

type silence struct{}

func (silence) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (silence) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (silence) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return nil }
}

// An attempt that the caller gave up may still be under way when the next one starts.
func TestRunConcurrently(t *testing.T) {
	p := newPlace(t, startServer(t).Client(t))
	call := p.acquire(alice)
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := call.Run(context.Background(), p.rdb)
			results <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-results)
	}
	p.heldOnce(alice)
}

func TestErrorsOfTheConnectionStayThemselves(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.acquire(alice).Run(ctx, p.rdb)
		require.ErrorIs(t, err, context.Canceled)
		calls := []*luacall.Call[luacall.AcquireReply]{p.acquire(alice)}
		luacall.RunAll(ctx, p.rdb, calls)
		require.ErrorIs(t, calls[0].Err, context.Canceled)

		require.NoError(t, p.rdb.Close())
		_, err = p.acquire(alice).Run(t.Context(), p.rdb)
		require.ErrorIs(t, err, redis.ErrClosed)
	})
}

// sentOnce counts how often a script is sent whose replies are all lost: Redis carries it out, and the connection dies.
func sentOnce(t *testing.T, p *place, client redis.UniversalClient, proxies ...*faultproxy.Proxy) {
	t.Helper()
	for _, proxy := range proxies {
		proxy.On(faultproxy.AnyScript, faultproxy.CutAfter).Times(-1)
	}
	sent := func() (n int) {
		for _, proxy := range proxies {
			n += proxy.Requests(faultproxy.AnyScript)
		}
		return n
	}
	for name, send := range map[string]func() error{
		"alone": func() error {
			_, err := p.acquire(alice).Run(t.Context(), client)
			return err
		},
		"in a pipeline": func() error {
			calls := []*luacall.Call[luacall.AcquireReply]{p.acquire(alice)}
			luacall.RunAll(t.Context(), client, calls)
			return calls[0].Err
		},
	} {
		before := sent()
		require.ErrorIs(t, send(), io.EOF, name)
		require.Equal(t, 1, sent()-before, name)
	}

	before := sent()
	err := client.EvalSha(t.Context(), "0123", []string{p.lock}).Err()
	require.Error(t, err)
	require.Greater(t, sent()-before, 1, "a plain command is sent again: the test sees")
}

func TestNothingIsSentBehindOurBack(t *testing.T) {
	server := startServer(t)
	proxy := faultproxy.Start(t, server.Addr())
	options := server.Options()
	options.Addr = proxy.Addr()
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	p := newPlace(t, rdb)
	run(p, p.acquire(alice))
	sentOnce(t, p, rdb, proxy)
}

func TestStatusNames(t *testing.T) {
	for status, name := range map[luacall.Status]string{
		luacall.TooLate: "late", luacall.Busy: "busy", luacall.Held: "held", luacall.Already: "already",
		luacall.Done: "done", luacall.Gone: "gone", luacall.Status(9): "status 9",
	} {
		require.Equal(t, name, fmt.Sprint(status))
	}
}
