package semaphore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

const (
	randomFor      = 6 * time.Second
	randomAtMost   = 90 * time.Second // on a machine that has other work
	randomStays    = 200
	randomLease    = 600 * time.Millisecond
	randomCapacity = 7
	randomWorkers  = 6 // of each client
)

// stay is a time in which a worker treated its permits as live: from the return of Acquire to the last time that it
// saw its context alive, or the call of release.
type stay struct {
	from, to time.Time
	count    int64
}

// TestBeliefsNeverExceedTheCapacity has clients come and go, one after the other as programs do that
// crash, on a network that loses, doubles and delays requests and replies.
func TestBeliefsNeverExceedTheCapacity(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := newLab(t, server)
	s := semaphore.New(l.other, l.name)
	require.NoError(t, s.SetCapacity(t.Context(), randomCapacity))

	var mu sync.Mutex // guards stays, crashes
	var stays []stay
	crashes := 0
	began := time.Now()
	goOn := func() bool {
		mu.Lock()
		defer mu.Unlock()
		ran := time.Since(began)
		return ran < randomFor || len(stays) <= randomStays && ran < randomAtMost
	}
	var lives sync.WaitGroup
	for range 3 {
		lives.Go(func() {
			for goOn() {
				got := l.life()
				mu.Lock()
				stays, crashes = append(stays, got...), crashes+1
				mu.Unlock()
			}
		})
	}
	lives.Wait()
	t.Logf("%d clients, %d stays", crashes, len(stays))
	require.Greater(t, crashes, 3)
	require.Greater(t, len(stays), randomStays)
	require.LessOrEqual(t, most(stays), int64(randomCapacity), "more permits were held than there are")

	_, release, err := s.Acquire(l.bounded(), randomCapacity)
	require.NoError(t, err, "all come back")
	l.sums(0, randomCapacity)
	require.NoError(t, release())
	l.sums(randomCapacity, 0)
}

// life is that of one client, which ends by losing its network in the middle of everything.
func (l *lab) life() (stays []stay) {
	proxy := faultproxy.Start(l.T, l.server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	client, err := rlock.NewClient(rdb, quiet(&rlock.ClientOptions{
		Lease: randomLease, ReleaseTimeout: 10 * time.Millisecond, MaxPoll: 50 * time.Millisecond,
	}))
	if err != nil {
		l.Error(err)
		return nil
	}
	gate := faultproxy.NewGate()
	actions := []faultproxy.Action{
		faultproxy.DropReply, faultproxy.CutAfter, faultproxy.CutBefore, faultproxy.Duplicate,
		faultproxy.DuplicateLater(gate), faultproxy.Late(gate), faultproxy.Delay(20 * time.Millisecond),
	}
	for _, script := range []string{
		"permit_acquire", "permit_acquire_many", "permit_release", "permit_release_many", "permit_renew",
	} {
		for range 4 {
			nth := faultproxy.Nth(1+rand.IntN(60), faultproxy.Script(luacall.SHA(script)))
			proxy.On(nth, actions[rand.IntN(len(actions))])
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var mu sync.Mutex // guards stays
	var workers sync.WaitGroup
	for range randomWorkers {
		workers.Go(func() {
			got := l.work(ctx, semaphore.New(client, l.name))
			mu.Lock()
			defer mu.Unlock()
			stays = append(stays, got...)
		})
	}
	time.Sleep(200*time.Millisecond + rand.N(time.Second))
	gate.Open()
	proxy.Blackhole(true) // like a crash: nothing is released
	stop()
	_ = client.Close()
	workers.Wait()
	_ = rdb.Close()
	return stays
}

// work acquires and releases until ctx ends.
func (l *lab) work(ctx context.Context, s *semaphore.Semaphore) (stays []stay) {
	for ctx.Err() == nil {
		count := 1 + rand.Int64N(3)
		held, release, err := s.Acquire(ctx, count)
		if err != nil {
			if !errors.Is(err, rlock.ErrBusy) && !errors.Is(err, rlock.ErrUnavailable) &&
				!errors.Is(err, rlock.ErrClosed) && !errors.Is(err, context.Canceled) &&
				!errors.Is(err, context.DeadlineExceeded) {
				l.Error(err)
			}
			continue
		}
		now := stay{from: time.Now(), count: count}
		for range rand.IntN(6) {
			seen := time.Now()
			if held.Err() != nil {
				break
			}
			now.to = seen
			time.Sleep(rand.N(2 * time.Millisecond))
		}
		_ = release()
		if now.to.After(now.from) {
			stays = append(stays, now)
		}
	}
	return stays
}

// most is how much was held at the same time.
func most(stays []stay) int64 {
	type change struct {
		at    time.Time
		count int64
	}
	var changes []change
	for _, s := range stays {
		changes = append(changes, change{s.from, s.count}, change{s.to, -s.count})
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	var now, most int64
	for _, c := range changes {
		now += c.count
		most = max(most, now)
	}
	return most
}
