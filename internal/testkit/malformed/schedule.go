package malformed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	lease    = time.Second
	patience = 300 * time.Millisecond // of a call, and of a release

	// slack is by how much a call may be late. The machine may be busy; without bounds it was half a minute.
	slack = 5 * time.Second
)

// protocols are those of RESP: messages and maps look different.
var protocols = []int{2, 3}

// lab is one server behind a proxy, and its clients. Those of a redlock are three servers, the first behind the proxy.
type lab struct {
	testing.TB
	rng    *rand.Rand
	proxy  *faultproxy.Proxy
	client *rlock.Client // through the proxy
	direct *rlock.Client
	quorum *redlock.Client // nil unless the call needs it
	name   string

	problems []string
	cleanups []func()
}

// Servers are what schedules run on. They may run at the same time.
type Servers struct {
	all      []*redistest.Server
	answered atomic.Uint64 // schedules in which a request was answered by other than its reply
}

// Start starts the servers.
func Start(t testing.TB) *Servers {
	t.Helper()
	s := &Servers{}
	for range 3 {
		s.all = append(s.all, redistest.Start(t))
	}
	return s
}

// Schedule runs one, and returns what was wrong.
func (s *Servers) Schedule(t testing.TB, seed uint64) (what string, problems []string) {
	rng := rand.New(rand.NewPCG(seed, 5))
	of := calls[rng.IntN(len(calls))]
	l := &lab{TB: t, rng: rng, proxy: faultproxy.Start(t, s.all[0].Addr()), name: fmt.Sprintf("malformed:%d", seed)}
	defer l.clean()
	protocol := pick(rng, protocols...)
	l.client = l.open(&redis.Options{Addr: l.proxy.Addr(), Protocol: protocol}, of.cluster)
	l.direct = l.open(&redis.Options{Addr: s.all[0].Addr()}, false)
	if of.quorum {
		l.openQuorum(s, protocol)
	}
	bad := draw(rng)
	what = fmt.Sprintf("%s over RESP%d, answered by %s", of.name, protocol, bad.name)
	l.run(s, of, bad)
	l.close()
	return what, l.problems
}

func (l *lab) problemf(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// options are those of a client with little patience.
func options() rlock.ClientOptions {
	return rlock.ClientOptions{
		Lease: lease, MaxPoll: 100 * time.Millisecond, ReleaseTimeout: patience, Logger: slog.New(slog.DiscardHandler),
	}
}

func (l *lab) open(o *redis.Options, cluster bool) *rlock.Client {
	// Otherwise go-redis leaves a goroutine of a client behind.
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	var rdb redis.UniversalClient
	if cluster {
		rdb = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{o.Addr}, Protocol: o.Protocol, MaintNotificationsConfig: o.MaintNotificationsConfig,
		})
	} else {
		rdb = redis.NewClient(o)
	}
	opts := options()
	client, err := rlock.NewClient(rdb, &opts)
	if err != nil {
		l.Fatal(err)
	}
	l.cleanups = append(l.cleanups, func() { _ = rdb.Close() })
	return client
}

func (l *lab) openQuorum(s *Servers, protocol int) {
	var nodes []redis.UniversalClient
	for i, server := range s.all {
		addr := server.Addr()
		if i == 0 {
			addr = l.proxy.Addr()
		}
		rdb := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol})
		l.cleanups = append(l.cleanups, func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	var err error
	l.quorum, err = redlock.NewClient(nodes, &redlock.Options{ClientOptions: options(), NoRestartGuard: true})
	if err != nil {
		l.Fatal(err)
	}
}

// run has the call made while all requests that it names are answered so.
func (l *lab) run(s *Servers, of call, bad answer) {
	ctx, cancel := context.WithTimeout(context.Background(), slack)
	defer cancel()
	do, err := of.prepare(ctx, l)
	if err != nil {
		return // the machine is too busy for a lease as short as this
	}
	rule := l.proxy.On(of.match, faultproxy.AnswerWith(bad.write)).Times(-1)
	defer rule.Times(0)
	limit := patience
	if of.limit > 0 {
		limit = of.limit
	}
	began := time.Now()
	ctx, cancel = context.WithTimeout(context.Background(), limit)
	defer cancel()
	err = do(ctx)
	if took := time.Since(began); took > limit+slack {
		l.problemf("it took %v instead of %v", took, limit)
	}
	switch {
	case of.survives && err != nil:
		l.problemf("it failed although it could do without: %v", err)
	case !of.survives && !of.mayPass && err == nil:
		l.problemf("it took that for a reply")
	case err != nil && len(err.Error()) > 10_000:
		l.problemf("its error has %d bytes", len(err.Error()))
	}
	if rule.Fired() > 0 {
		s.answered.Add(1)
	}
}

// close closes the clients while the answers go on.
func (l *lab) close() {
	began := time.Now()
	err := errors.Join(l.client.Close(), l.direct.Close())
	if l.quorum != nil {
		err = errors.Join(err, l.quorum.Close())
	}
	if took := time.Since(began); took > 6*patience+slack {
		l.problemf("Close took %v: %v", took, err)
	}
}

func (l *lab) clean() {
	for _, f := range l.cleanups {
		f()
	}
}
