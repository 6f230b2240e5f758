package prometheus_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/promtool"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/observe/prometheus"
	"github.com/holdfast-go/holdfast/observe/prometheus/internal/recording"
	"github.com/holdfast-go/holdfast/rlock"
)

// shop is a process that locks all day long.
type shop struct {
	tape     recording.Tape
	path     netfault.Path
	from, to int           // the minutes at which it starts and ends
	every    time.Duration // between two orders
	reports  bool          // at every full hour

	rdb      *redis.Client
	locks    *rlock.Client
	registry *client.Registry // nil: it does not run
	end      context.CancelFunc
	work     sync.WaitGroup
}

func (s *shop) start(t *testing.T, sim *simredis.Server) {
	opts := sim.Options()
	s.path.Next = opts.Dialer
	opts.Dialer = s.path.Dial
	s.rdb = redis.NewClient(opts)
	m := prometheus.New(prometheus.Options{})
	s.registry = client.NewRegistry()
	require.NoError(t, s.registry.Register(m))
	var err error
	s.locks, err = rlock.NewClient(s.rdb, &rlock.ClientOptions{Observer: m.Observer()})
	require.NoError(t, err)
	m.Track(s.locks)
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.repeat(ctx, s.every, func(n int) { s.order(ctx, n) })
	s.repeat(ctx, 3*s.every, func(int) { s.tryStock(ctx) })
	if s.reports {
		s.repeat(ctx, time.Hour-reporting, func(int) { s.report(ctx) })
	}
	s.repeat(ctx, 13*time.Minute, func(int) { s.leave(ctx) })
}

// repeat does something again and again, until the end.
func (s *shop) repeat(ctx context.Context, every time.Duration, do func(n int)) {
	s.work.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			do(n)
			sleep(ctx, every)
		}
	})
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// order waits for a lock that nobody else wants.
func (s *shop) order(ctx context.Context, n int) {
	order := rlock.New(s.locks, fmt.Sprintf("order:%s:%d", s.tape.Instance, n%8), rlock.MaxWait(5*time.Second))
	_ = order.Do(ctx, func(ctx context.Context) error {
		sleep(ctx, 200*time.Millisecond)
		return nil
	})
}

// tryStock tries a lock that another shop has most of the time.
func (s *shop) tryStock(ctx context.Context) {
	if held, unlock, err := rlock.New(s.locks, "stock").TryLock(ctx); err == nil {
		sleep(held, time.Minute)
		_ = unlock()
	}
}

// reporting is how long a report takes: longer than a lease.
const reporting = 5 * time.Minute

func (s *shop) report(ctx context.Context) {
	held, unlock, err := rlock.New(s.locks, "report").Lock(ctx)
	if err == nil {
		sleep(held, reporting)
		_ = unlock()
	}
}

// leave waits for what another one has, for a caller who leaves soon.
func (s *shop) leave(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, unlock, err := rlock.New(s.locks, "stock").Lock(soon); err == nil {
		_ = unlock()
	}
}

func (s *shop) stop(t *testing.T) {
	s.end()
	s.work.Wait()
	assert.NoError(t, s.locks.Close())
	assert.NoError(t, s.rdb.Close())
	s.registry = nil
}

// scrape is what a Prometheus does each minute.
func (s *shop) scrape() error {
	if s.registry == nil {
		return s.tape.Scrape(nil)
	}
	return s.tape.Scrape(s.registry)
}

const day = 24 * 60 // minutes

// troubles are those of an ordinary day, by the minute at which they begin and their length. Each befalls the shops
// from one on to another.
var troubles = []struct {
	at         int
	length     time.Duration
	begin, end func(*netfault.Path)
	from, to   int
}{
	{ // Redis is restarted while one of the shops makes its report.
		at: 3*60 + 1, length: 15 * time.Second, from: 0, to: 3,
		begin: func(p *netfault.Path) { p.Refuse(true); p.Cut() },
		end:   func(p *netfault.Path) { p.Refuse(false) },
	},
	{ // Another node takes over.
		at: 9*60 + 31, length: 15 * time.Second, from: 0, to: 3,
		begin: func(p *netfault.Path) { p.Silence(true) },
		end:   func(p *netfault.Path) { p.Silence(false) },
	},
	{ // The network is slow.
		at: 17*60 + 44, length: 10 * time.Minute, from: 3, to: 6,
		begin: func(p *netfault.Path) { p.Slow(150 * time.Millisecond) },
		end:   func(p *netfault.Path) { p.Slow(0) },
	},
	{ // One shop is cut off for a moment.
		at: 20*60 + 12, length: 15 * time.Second, from: 4, to: 5,
		begin: func(p *netfault.Path) { p.Silence(true) },
		end:   func(p *netfault.Path) { p.Silence(false) },
	},
}

// runDay is a day of three shops, each of which is deployed anew around noon.
func runDay(t *testing.T, shops []*shop) {
	sim := simredis.New(t)
	var faults sync.WaitGroup
	for minute := range day + 1 {
		for _, s := range shops {
			switch minute {
			case s.to:
				s.stop(t)
			case s.from:
				s.start(t, sim)
			}
		}
		for _, trouble := range troubles {
			if minute == trouble.at {
				faults.Go(func() {
					time.Sleep(50 * time.Second) // it is in two minutes, and so in two scrapes
					for _, s := range shops[trouble.from:trouble.to] {
						trouble.begin(&s.path)
					}
					time.Sleep(trouble.length)
					for _, s := range shops[trouble.from:trouble.to] {
						trouble.end(&s.path)
					}
				})
			}
		}
		for _, s := range shops {
			require.NoError(t, s.scrape())
		}
		time.Sleep(time.Minute)
	}
	faults.Wait()
	for _, s := range shops {
		if s.registry != nil {
			s.stop(t)
		}
	}
}

// A day with its usual troubles, in simulated time, as a Prometheus with its default interval finds it. An alert that
// fires each time a server is restarted is one that nobody reads (defect G34).
func TestAnOrdinaryDayRaisesNoAlert(t *testing.T) {
	t.Parallel()
	rules, err := filepath.Abs("../../deploy/prometheus/rules.yml")
	require.NoError(t, err)
	scope, err := recording.ScopeOf(rules)
	require.NoError(t, err)
	var shops []*shop
	var tapes []*recording.Tape
	for i := range 6 {
		s := &shop{to: 12*60 + 10 + i, reports: i%3 == 0}
		s.every = []time.Duration{time.Minute, 3 * time.Minute, 10 * time.Minute}[i%3]
		if i >= 3 {
			s.from, s.to = shops[i-3].to, day+1
		}
		s.tape = recording.Tape{Job: "shop", Instance: string(rune('a' + i)), Scope: scope}
		shops, tapes = append(shops, s), append(tapes, &s.tape)
	}
	synctest.Test(t, func(t *testing.T) { runDay(t, shops) })
	text := recording.Test("an ordinary day", rules, time.Minute, tapes, []recording.Check{
		{At: day * time.Minute, Expr: `count_over_time(ALERTS{alertstate="firing"}[24h])`},
		// It was no day without troubles.
		{At: day * time.Minute, Expr: `sum(increase(holdfast_failures_total{reason="unavailable"}[24h])) > bool 5`,
			Ones: []string{"{}"}},
		{At: day * time.Minute, Expr: `sum(increase(holdfast_renewals_total{result="error"}[24h])) > bool 0`,
			Ones: []string{"{}"}},
	})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "day_test.yml"), []byte(text), 0o600))
	promtool.Run(t, dir, "test", "rules", "day_test.yml")
}
