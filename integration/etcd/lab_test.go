package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) {
	servers.InParallel(2) // each has three servers, which must not take one another for dead
	etcdtest.Main(m)
}

const (
	// patience bounds every wait for something that must happen. Nothing is measured against it.
	patience = 2 * time.Minute
	// lease is the shortest that is recommended where a server that stands still must end no hold.
	lease = 15 * time.Second
)

// lab is three servers, and paths to them that all its clients use.
type lab struct {
	*etcdtest.Cluster
	paths []*tcpproxy.Proxy
	lease time.Duration // of all clients
}

func open(t *testing.T, flags ...string) *lab {
	t.Helper()
	l := &lab{Cluster: etcdtest.StartCluster(t, flags...), lease: lease}
	for _, s := range l.Members {
		l.paths = append(l.paths, tcpproxy.Start(t, s.Addr()))
	}
	return l
}

// client makes a client, as of a process of its own, of some members, or else of all.
func (l *lab) client(t *testing.T, opts etcdlock.Options, members ...int) *etcdlock.Client {
	t.Helper()
	config := clientv3.Config{Logger: zap.NewNop()}
	for i, path := range l.paths {
		if len(members) == 0 || slices.Contains(members, i) {
			config.Endpoints = append(config.Endpoints, "http://"+path.Addr())
		}
	}
	cli, err := clientv3.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	opts.Lease, opts.Logger = l.lease, slog.New(slog.NewTextHandler(io.Discard, nil))
	c, err := etcdlock.NewClient(cli, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// team is two clients that take turns with one lock until they are told to stop.
type team struct {
	began   time.Time
	running sync.WaitGroup
	stop    context.CancelFunc
	turns   [2]atomic.Int64

	mu    sync.Mutex // guards what follows
	holds []witness.Hold
	odd   []error // those that a fault does not explain
}

const name = "taken-in-turns"

// play starts the two, and returns once each has had some turns.
func (l *lab) play(t *testing.T) *team {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &team{began: time.Now(), stop: cancel}
	for i := range p.turns {
		c := l.client(t, etcdlock.Options{})
		p.running.Go(func() {
			for ctx.Err() == nil {
				p.turn(ctx, c, i)
			}
		})
	}
	t.Cleanup(func() { cancel(); p.running.Wait() })
	p.goesOn(t)
	return p
}

// turn is one: a lock, some work, an unlock.
func (p *team) turn(ctx context.Context, c *etcdlock.Client, i int) {
	l := c.Lock(name)
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		p.expect(err, lock.ErrUnavailable, context.Canceled)
		return
	}
	h := witness.Hold{Name: name, Who: fmt.Sprint("client ", i), From: time.Since(p.began)}
	hold, err := l.Held(held)
	p.expect(err, lock.ErrLost)
	h.Fence, h.To = hold.Fence, h.From
	over := time.After(20 * time.Millisecond)
	for working := true; working; {
		select {
		case <-over:
			working = false
		case <-held.Done():
			working = false
		case <-time.After(time.Millisecond):
		}
		if now := time.Since(p.began); held.Err() == nil {
			h.To = now // it was live then
		}
	}
	p.mu.Lock()
	p.holds = append(p.holds, h)
	p.mu.Unlock()
	p.turns[i].Add(1)
	p.expect(unlock(), lock.ErrLost, lock.ErrUnconfirmed)
}

// expect notes an error unless it is one of those.
func (p *team) expect(err error, ones ...error) {
	if err == nil {
		return
	}
	for _, one := range ones {
		if errors.Is(err, one) {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.odd = append(p.odd, err)
}

// goesOn waits until both have had some more turns.
func (p *team) goesOn(t *testing.T) {
	t.Helper()
	const some = 3
	var from [2]int64
	for i := range p.turns {
		from[i] = p.turns[i].Load()
	}
	etcdtest.Eventually(t, func() bool {
		return p.turns[0].Load() >= from[0]+some && p.turns[1].Load() >= from[1]+some
	}, "both have their turns")
}

// judge ends the game.
func (p *team) judge(t *testing.T) {
	t.Helper()
	p.stop()
	p.running.Wait()
	require.Empty(t, p.odd)
	require.NoError(t, witness.Judge(p.holds))
	slices.SortFunc(p.holds, func(a, b witness.Hold) int { return cmp.Compare(a.From, b.From) })
	stall := time.Duration(0)
	for i := range len(p.holds) - 1 {
		stall = max(stall, p.holds[i+1].From-p.holds[i].To)
	}
	t.Logf("%d turns, and none for %v at most", len(p.holds), stall.Round(time.Millisecond))
}

// keeper is a client that holds one lock all the time.
type keeper struct {
	held     context.Context
	unlock   func() error
	renewals atomic.Int64

	mu     sync.Mutex // guards what follows
	failed []string   // the errors of renewals since the last renewal that succeeded
}

func (l *lab) keep(t *testing.T, lockName string) *keeper {
	t.Helper()
	k := &keeper{}
	c := l.client(t, etcdlock.Options{Observer: &lock.Observer{Renewed: k.told}})
	var err error
	k.held, k.unlock, err = c.Lock(lockName, lock.MaxWait(patience)).Lock(context.Background())
	require.NoError(t, err)
	return k
}

// told counts a renewal that succeeded, or notes the error of one that failed.
func (k *keeper) told(r lock.Renewal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Err == nil {
		k.failed = nil
		k.renewals.Add(1)
		return
	}
	k.failed = append(k.failed, fmt.Sprint(time.Now().Format(time.StampMilli), ": ", r.Err))
}

// renewed waits until the lock was renewed as often again.
func (k *keeper) renewed(t *testing.T, times int64) {
	t.Helper()
	from := k.renewals.Load()
	etcdtest.Eventually(t, func() bool { return k.renewals.Load() >= from+times || k.held.Err() != nil }, "renewals")
	k.mu.Lock()
	defer k.mu.Unlock()
	require.NoError(t, context.Cause(k.held), "renewals that failed: %q", k.failed)
}
