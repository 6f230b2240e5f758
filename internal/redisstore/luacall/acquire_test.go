package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func TestAcquireFreeLock(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		before := p.now()
		got := run(p, p.acquire(alice))
		after := p.now()

		require.Equal(t, luacall.Held, got.Status)
		require.Zero(t, got.PTTL)
		require.GreaterOrEqual(t, got.Now, before)
		require.LessOrEqual(t, got.Now, after)
		require.Equal(t, got.Now, got.Fence, "the first token is the clock")
		require.Equal(t, got.Fence, p.stored())
		p.heldOnce(alice)
	})
}

func TestAcquireBusyLock(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.do("PEXPIRE %s 7000", p.lock)
		p.unchanged(func() {
			got := run(p, p.acquire(bob))
			require.Equal(t, luacall.Busy, got.Status)
			require.Zero(t, got.Fence)
			require.InDelta(t, 7*time.Second, got.PTTL, float64(time.Second))
			require.Positive(t, got.Now)
		})
	})
}

func TestAcquireBusyLockOfJavaAndOfNestedHold(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		p.do("HSET %s 8743c9c0-0795-4907-87fd-6c719a6b4586:51 3", p.lock)
		p.do("PEXPIRE %s 30000", p.lock)
		require.Equal(t, luacall.Busy, run(p, p.acquire(alice)).Status)

		p.do("DEL %s", p.lock)
		run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 2))
		require.Equal(t, luacall.Busy, run(p, p.acquire(bob)).Status)
		require.Equal(t, luacall.Already, run(p, p.acquire(alice)).Status)
	})
}

func TestAcquireResend(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		call := p.acquire(alice)
		first := run(p, call)
		p.unchanged(func() {
			second := run(p, call)
			require.Equal(t, luacall.Already, second.Status)
			require.Equal(t, first.Fence, second.Fence)
			require.InDelta(t, 30*time.Second, second.PTTL, float64(time.Second))
		})
	})
}

func TestAcquireResendAfterTheTokenWasLost(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.do("DEL %s", p.token)
		got := run(p, p.acquire(alice))
		require.Equal(t, luacall.Already, got.Status)
		require.Zero(t, got.Fence)
	})
}

func TestAcquireLate(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		late := luacall.Acquire(luacall.AcquireArgs{
			Lock: p.lock, Token: p.token, ID: alice,
			Lease: lease, NotAfter: p.now() - 1, FenceTTL: fenceTTL,
		})
		p.unchanged(func() {
			got := run(p, late)
			require.Equal(t, luacall.TooLate, got.Status)
			require.Positive(t, got.Now)
		})
		p.free()

		run(p, p.acquire(alice))
		p.unchanged(func() {
			require.Equal(t, luacall.TooLate, run(p, late).Status, "even where it would be recognised")
		})
	})
}

func TestAcquireInTime(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		got := run(p, luacall.Acquire(luacall.AcquireArgs{
			Lock: p.lock, Token: p.token, ID: alice,
			Lease: lease, NotAfter: p.now() + 10_000_000, FenceTTL: fenceTTL,
		}))
		require.Equal(t, luacall.Held, got.Status)
	})
}

func TestLeaseEndsInRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, p *place) {
		run(p, luacall.Acquire(luacall.AcquireArgs{
			Lock: p.lock, Token: p.token, ID: alice,
			Lease: 1, NotAfter: never, FenceTTL: fenceTTL,
		}))
		deadline := time.Now().Add(5 * time.Second)
		for run(p, p.acquire(bob)).Status != luacall.Held {
			require.True(t, time.Now().Before(deadline), "a lease of 1 ms did not end")
		}
		p.heldOnce(bob)
	})
}

func TestBadArgumentsAreNotSent(t *testing.T) {
	good := luacall.AcquireArgs{
		Lock: "l", Token: "t", ID: alice, Lease: 1000, NotAfter: never, FenceTTL: -1,
	}
	change := func(f func(a *luacall.AcquireArgs)) luacall.AcquireArgs {
		a := good
		f(&a)
		return a
	}
	for name, a := range map[string]luacall.AcquireArgs{
		"no lock":        change(func(a *luacall.AcquireArgs) { a.Lock = "" }),
		"no token":       change(func(a *luacall.AcquireArgs) { a.Token = "" }),
		"no id":          change(func(a *luacall.AcquireArgs) { a.ID = "" }),
		"no colon in id": change(func(a *luacall.AcquireArgs) { a.ID = "me" }),
		"lease 0":        change(func(a *luacall.AcquireArgs) { a.Lease = 0 }),
		"lease < 0":      change(func(a *luacall.AcquireArgs) { a.Lease = -1 }),
		"lease too long": change(func(a *luacall.AcquireArgs) { a.Lease = 1 << 60 }),
		"fence TTL 0":    change(func(a *luacall.AcquireArgs) { a.FenceTTL = 0 }),
		"fence TTL long": change(func(a *luacall.AcquireArgs) { a.FenceTTL = 1 << 60 }),
	} {
		t.Run(name, func(t *testing.T) { refused(t, luacall.Acquire(a)) })
	}
	refused(t, luacall.Levels("", alice, 1, 2))
	refused(t, luacall.Levels("l", "x", 1, 2))
	refused(t, luacall.Levels("l", alice, 0, 1))
	refused(t, luacall.Levels("l", alice, 1, 0))
	refused(t, luacall.Levels("l", alice, 1, 1<<53+1))
	refused(t, luacall.Release(luacall.ReleaseArgs{Lock: "l", ID: alice}))
	refused(t, luacall.Adopt(luacall.AdoptArgs{Lock: "l", From: alice, To: alice, Lease: 1}))
	refused(t, luacall.Adopt(luacall.AdoptArgs{Lock: "l", From: alice, To: bob}))
	refused(t, luacall.Adopt(luacall.AdoptArgs{Lock: "l", From: alice, To: "x", Lease: 1}))
	refused(t, luacall.Renew(nil, nil, nil))
	refused(t, luacall.Renew([]string{"l"}, []string{alice}, nil))
	refused(t, luacall.Renew([]string{"l"}, []string{alice}, []int64{0}))
	refused(t, luacall.Inspect("", "", "c", false))
	refused(t, luacall.Inspect("l", "", "", false))
}

// refused runs the call on no connection at all, alone and in a batch.
func refused[R any](t *testing.T, call *luacall.Call[R]) {
	t.Helper()
	_, err := call.Run(t.Context(), nil)
	require.ErrorContains(t, err, "lua: ")
	require.NotErrorIs(t, err, luacall.ErrConflict)
}
