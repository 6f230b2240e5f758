package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 3, bug 9: renewals fail until the hold is lost. The same handle takes the name again, and that hold is
// renewed period after period as if nothing had been.
func TestANameTakenAgainAfterFailedRenewalsIsRenewed(t *testing.T) {
	t.Parallel()
	faults := map[string]faultproxy.Action{
		"cut before": faultproxy.CutBefore, "request lost": faultproxy.DropRequest,
		"reply lost": faultproxy.DropReply,
	}
	for what, fault := range faults {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			const lease, periods = 3 * time.Second, 4
			l := newLossLab(t, 1, lease)
			lock := rlock.New(l.clients[0], "job")
			failing := l.proxy.On(lossRenewal, fault).Times(-1)
			ctx, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			lossEnds(t, ctx, "job", rlock.LossExpired)
			require.Positive(t, failing.Fired())
			failing.Times(0)
			require.NoError(t, lossCheck("job", unlock(), rlock.LossExpired))

			again, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			before := l.events.count(&l.events.renewed, "job")
			redistest.Eventually(t, lossPatience, func() bool {
				return l.events.count(&l.events.renewed, "job") >= before+periods
			}, "the second hold is renewed")
			require.NoError(t, again.Err())
			held, err := lock.Held(again)
			require.NoError(t, err)
			assert.Equal(t, map[string]string{held.ID: "1"}, l.direct.HGetAll(t.Context(), "job").Val())
			assert.NoError(t, unlock())
			assert.Equal(t, 1, l.events.total(), "only the first hold was lost")
		})
	}
}

// renewalStorm hands many names back and forth between goroutines of two clients.
type renewalStorm struct {
	clients []*rlock.Client
	turns   atomic.Int64
	kept    atomic.Int64
}

const (
	renewalStormNames = 60
	renewalStormTurns = 60              // of each goroutine, and one of them lasts for longer than the lease
	renewalStormLease = 3 * time.Second // a sixth of it is a command's limit, which a busy machine must keep
)

// Need 3, bug 8 (redisson#6844): the unlock of one holder must not end the renewal of the next one, which has
// the same name in the same process. A lost registration shows only in a hold that is kept: so, in the middle
// of a storm of turns, each goroutine keeps its hold for longer than the lease.
func TestEveryHoldOfAStormIsRenewed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := &renewalStorm{}
	for range 2 {
		s.clients = append(s.clients, timeClient(t, server.Addr(), rlock.ClientOptions{
			Lease: renewalStormLease, MaxPoll: 50 * time.Millisecond,
		}))
	}
	errs := make([]error, 3*renewalStormNames)
	var all sync.WaitGroup
	for i := range errs {
		// Two of each three are of one client, so that the lock passes inside a client as well.
		lock := rlock.New(s.clients[i%3/2], "storm:"+strconv.Itoa(i/3))
		all.Go(func() { errs[i] = s.run(lock, i*7) })
	}
	all.Wait()
	for _, err := range errs {
		assert.NoError(t, err)
	}
	t.Logf("%d turns, %d holds kept for longer than a lease", s.turns.Load(), s.kept.Load())
	require.EqualValues(t, len(errs), s.kept.Load())
	require.Empty(t, conductHeldKeys(t, server))
}

func (s *renewalStorm) run(lock *rlock.Lock, offset int) error {
	for n := range renewalStormTurns {
		err := lock.Do(context.Background(), func(ctx context.Context) error {
			s.turns.Add(1)
			if (n+offset)%renewalStormTurns != renewalStormTurns/2 {
				return nil
			}
			s.kept.Add(1)
			return s.keep(ctx, lock)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keep stays for longer than the lease, and checks that the hold was renewed meanwhile.
func (s *renewalStorm) keep(ctx context.Context, lock *rlock.Lock) error {
	first, err := lock.Held(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: the hold was not kept: %w", lock.Name(), context.Cause(ctx))
	case <-time.After(renewalStormLease * 5 / 4): // the lapse of time is what is tested
	}
	now, err := lock.Held(ctx)
	if err == nil && !now.ValidUntil.After(first.ValidUntil) {
		err = errors.New("it is valid, and was not renewed")
	}
	return err
}
