package rlock_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// The text is for people: it names the lock, the problem and the cause, on one line.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	lost := &rlock.LostError{Name: "a\nb", Reason: rlock.LossGone, Err: errors.New("why")}
	require.ErrorIs(t, lost, rlock.ErrLost)
	require.NotErrorIs(t, lost, rlock.ErrBusy)
	require.EqualError(t, lost.Unwrap(), "why")
	require.NotContains(t, lost.Error(), "\n")
	for _, part := range []string{`"a\nb"`, rlock.LossGone.String(), "why"} {
		require.ErrorContains(t, lost, part)
	}
	said := make(map[string]bool)
	for _, reason := range []rlock.LossReason{rlock.LossExpired, rlock.LossGone, rlock.LossMaxHold, 0, 9} {
		require.NotEmpty(t, reason.String())
		require.False(t, said[reason.String()])
		said[reason.String()] = true
	}
}

// defect D15: "not" in front of a value reads as if that were forbidden, or wanted, where the problem is
// another one, as with the name that a lock was not to have twice.
func TestTextsOfBadArguments(t *testing.T) {
	t.Parallel()
	for text, err := range map[string]error{
		"holdfast: fn must not be nil":  &rlock.ArgumentError{Name: "fn", Problem: "must not be nil"},
		"holdfast: x must be 4 (got 3)": &rlock.ArgumentError{Name: "x", Value: 3, Problem: "must be 4"},
		`holdfast: name must have balanced braces, so that all keys are in one slot (got "a{b")`: &rlock.ArgumentError{
			Name: "name", Value: `"a{b"`, Problem: "must have balanced braces, so that all keys are in one slot",
		},
	} {
		require.EqualError(t, err, text)
	}
}

// defect D14: the text of a loss says what happened once, in words of the application's world.
func TestTextsOfLosses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		for text, c := range map[string]struct {
			opts []rlock.Option
			lose func()
		}{
			`holdfast: lock "a" lost: gone from the store`: {nil, func() { sim.Miniredis().Del("a") }},
			`holdfast: lock "b" lost: lease expired`:       {[]rlock.Option{rlock.FixedLease(time.Second)}, func() {}},
			`holdfast: lock "c" lost: MaxHold exceeded`:    {[]rlock.Option{rlock.MaxHold(time.Second)}, func() {}},
		} {
			name := strings.Split(text, `"`)[1]
			hold := timeLock(t, t.Context(), rlock.New(client, name, c.opts...))
			c.lose()
			<-hold.ctx.Done()
			require.EqualError(t, context.Cause(hold.ctx), text)
			require.EqualError(t, hold.unlock(), text)
		}
		// What happened behind it is added where that says more.
		hold := timeLock(t, t.Context(), rlock.New(client, "d"))
		sim.suffer(timeAlways(simredis.Cut))
		<-hold.ctx.Done()
		require.ErrorContains(t, hold.unlock(), `holdfast: lock "d" lost: lease expired: `)
		sim.suffer(nil)
		time.Sleep(time.Minute)
	})
}

// defect D13: the error of a wait that MaxWait ended says so, and how long that was: also if several locks
// share it.
func TestTextOfAWaitThatMaxWaitEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a, b := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
		held := timeLock(t, t.Context(), rlock.New(a, "x"))
		const wait = 1500 * time.Millisecond
		_, _, err := rlock.New(b, "x", rlock.MaxWait(wait)).Lock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.ErrorContains(t, err, `holdfast: lock "x" is held by another caller: MaxWait (1.5s) elapsed`)

		_, _, err = multilock.New([]*rlock.Lock{rlock.New(b, "x"), rlock.New(b, "y")}, rlock.MaxWait(wait)).Lock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.ErrorContains(t, err, "MaxWait (1.5s) elapsed")

		require.NoError(t, held.unlock())
	})
}

// rueidis#630, #653: a dial ends with the very error that the caller's own deadline would have. The
// caller's context is fine, and the error must not say otherwise.
func TestADialThatTimesOutIsNotTheCallersDeadline(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{
		Addr: "unreachable:6379",
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, context.DeadlineExceeded
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, conductQuiet(&rlock.ClientOptions{
		Lease: errorsLease, ReleaseTimeout: 500 * time.Millisecond,
	}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	lock := rlock.New(client, "l")
	for name, call := range map[string]func() error{
		"TryLock": func() error { _, _, err := lock.TryLock(conductCtx(t)); return err },
		"Lock":    func() error { _, _, err := lock.Lock(conductCtx(t)); return err },
		"Inspect": func() error { _, err := lock.Inspect(conductCtx(t)); return err },
		"Break":   func() error { return lock.Break(conductCtx(t)) },
	} {
		err := call()
		errorsOnly(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, context.DeadlineExceeded, name)
	}
}
