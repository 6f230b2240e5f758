package topologies

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	watchedLease = 9 * time.Second
	watchedHolds = 20

	// soon is when a new lock must be possible again: the goal is two seconds, and the rest is for a busy machine.
	soon = 8 * time.Second
)

// pointed is a lab of Sentinel whose clients ask the first Sentinel, and learn of the others from it.
func pointed(t testing.TB) *site {
	t.Helper()
	return pointedAt(redistest.Sentinel(t))
}

func pointedAt(lab *redistest.SentinelLab) *site {
	s := over(lab)
	s.connect = s.connectFirst
	return s
}

// connectFirst makes a client that knows the first Sentinel.
func (s *site) connectFirst(dial dialer) redis.UniversalClient {
	o := s.firstOptions()
	o.Dialer = dial
	return redis.NewFailoverClient(o)
}

func (s *site) firstOptions() *redis.FailoverOptions {
	o := s.sentinel.Options()
	o.SentinelAddrs = o.SentinelAddrs[:1]
	return o
}

// ways are how an application may dial: by go-redis's own dialer, and by one whose connections only it can make.
func ways() map[string]dialer {
	var counted redistest.Meter
	return map[string]dialer{"go-redis's dialer": nil, "a dialer of its own": counted.Dial}
}

// dialling opens a process that dials in some way.
func (s *site) dialling(t testing.TB, dial dialer) *process {
	t.Helper()
	p := &process{t: t, site: s, renewed: make(map[string]int), failed: make(map[string]error)}
	opts := rlock.ClientOptions{Lease: watchedLease, Logger: quiet, Observer: p.observer()}
	p.client = p.open(opts, dial)
	return p
}

// hold takes many locks, and returns what ends them.
func (p *process) hold(t testing.TB) (unlock func(t testing.TB)) {
	t.Helper()
	var all []stay
	for i := range watchedHolds {
		all = append(all, entered(t, rlock.New(p.client, fmt.Sprintf("held:%d", i))))
	}
	p.renewedAgain(t, 1, watchedHolds)
	return func(t testing.TB) {
		t.Helper()
		for _, s := range all {
			require.NoError(t, s.ctx.Err(), "%v", context.Cause(s.ctx))
			require.NoError(t, s.unlock())
		}
	}
}

// first is how long it takes until somebody gets a new lock.
func (p *process) first(t testing.TB, name string) time.Duration {
	t.Helper()
	began := time.Now()
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := rlock.New(p.client, name).Lock(within(t))
		return err == nil && unlock() == nil
	}, "no new lock")
	return time.Since(began)
}

// defect F2: a Sentinel that hangs, or all of them dead, cost no hold and no new lock while the primary answers. The
// client had asked the one that hangs, and go-redis leaves it only after its own time limits.
func TestSentinelsThatDoNotAnswerCostNoLock(t *testing.T) {
	for fault, strike := range map[string]func(s *site){
		"one hangs":    func(s *site) { s.sentinel.Sentinels()[0].Stop() },
		"all are dead": func(s *site) { each(s.sentinel.Sentinels(), (*redistest.Server).Kill) },
	} {
		for way, dial := range ways() {
			t.Run(fault+", "+way, func(t *testing.T) {
				t.Parallel()
				s := pointed(t)
				holder, other := s.dialling(t, dial), s.dialling(t, dial)
				unlock := holder.hold(t)
				other.first(t, "before") // so that it has a connection
				strike(s)
				took := other.first(t, "new")
				t.Logf("a new lock after %v", took.Round(time.Millisecond))
				require.Less(t, took, soon)
				holder.renewedAgain(t, 4, watchedHolds) // for longer than a lease
				require.Empty(t, holder.losses())
				unlock(t)
			})
		}
	}
}

func each(servers []*redistest.Server, do func(*redistest.Server)) {
	for _, server := range servers {
		do(server)
	}
}

// defect F2: the machine of the primary and of the Sentinel that the client asks stops. The holds live on, and new
// locks are possible soon after the replica serves.
func TestAPrimaryThatStopsTogetherWithASentinel(t *testing.T) {
	t.Parallel()
	s := pointed(t)
	s.failed = true
	holder, other := s.dialling(t, nil), s.dialling(t, nil)
	kept := entered(t, rlock.New(other.client, "kept")) // so that it has been here for a while
	other.renewedAgain(t, 1, 1)
	unlock := holder.hold(t)
	old, next := s.servers[0], s.servers[1]
	old.Stop()
	s.sentinel.Sentinels()[0].Stop()
	promoted(t, next)
	took := other.first(t, "new")
	t.Logf("a new lock %v after the replica served", took.Round(time.Millisecond))
	require.Less(t, took, soon)
	holder.renewedAgain(t, 4, watchedHolds)
	require.Empty(t, append(holder.losses(), other.losses()...))
	require.NoError(t, kept.unlock())
	unlock(t)
}

// promoted waits until a server is a primary.
func promoted(t testing.TB, server *redistest.Server) {
	t.Helper()
	rdb := redis.NewClient(server.Options())
	defer func() { _ = rdb.Close() }()
	end := time.Now().Add(patience)
	for rdb.Set(within(t), "probe", "", time.Second).Err() != nil {
		require.True(t, time.Now().Before(end), "the replica was not promoted")
		time.Sleep(2 * time.Millisecond)
	}
}

// defect F2, half a split: a process and the old primary are together on one side, and all else is on the other. The
// primary answers for ever, but what it grants and renews reaches no replica, and no Sentinel answers; so the process
// leaves it: its holds end about when others can have them, and it gets no lock there.
func TestAProcessAloneWithTheOldPrimaryLeavesIt(t *testing.T) {
	t.Parallel()
	lab := redistest.SplitSentinel(t)
	s := pointedAt(lab.SentinelLab)
	s.failed = true
	old := s.servers[0]
	s.connect = func(dialer) redis.UniversalClient {
		o := s.firstOptions()
		lab.Alone(o)
		return redis.NewFailoverClient(o)
	}
	alone := s.dialling(t, nil)
	s.connect = s.connectFirst
	other := s.dialling(t, nil)
	one := entered(t, rlock.New(alone.client, "one"))
	alone.renewedAgain(t, 1, 1)
	other.first(t, "before")
	split := time.Now()
	lab.Cut()
	rival := other.wait(t, rlock.New(other.client, "one"))
	redistest.Receive(t, patience, one.ctx.Done(), "the process goes on with the old primary")
	told := time.Now()
	t.Logf("the hold ended %v after the split", told.Sub(split).Round(time.Millisecond))
	require.ErrorIs(t, context.Cause(one.ctx), rlock.ErrLost)
	require.ErrorIs(t, one.unlock(), rlock.ErrLost)
	require.Less(t, told.Sub(split), 2*watchedLease)
	require.Equal(t, "master", old.Info(t, "replication")["role"], "it was never told that it was deposed")
	_, _, err := rlock.New(alone.client, "two").TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NoError(t, arrives(t, rival).unlock())
}
