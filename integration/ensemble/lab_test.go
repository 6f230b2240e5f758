package ensemble

import (
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/contest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

func TestMain(m *testing.M) {
	role.Play()
	servers.InParallel(2) // each has three servers, which must not take one another for dead
	zktest.Main(m)
}

const (
	// patience bounds every wait for something that must happen. Nothing is measured against it.
	patience = 2 * time.Minute
	// lease is longer than the servers of these tests need to see that one of them stands still, which is 5 s, and to
	// elect another leader.
	lease = 15 * time.Second
)

// lab is three servers, with a path to each that all its clients use.
type lab struct {
	*zktest.Ensemble
	lease time.Duration // of all clients
}

func open(t *testing.T, opts zktest.Options) *lab {
	t.Helper()
	if opts.Tick == 0 {
		opts.Config = append(opts.Config, "initLimit=10") // a follower may wait so long for its leader, too
	}
	return &lab{Ensemble: zktest.StartEnsemble(t, 3, opts), lease: lease}
}

// client makes a client, as of a process of its own, of some members, or else of all.
func (l *lab) client(t *testing.T, opts zklock.Options, members ...int) *zklock.Client {
	t.Helper()
	var addresses []string
	for i, address := range l.PathAddrs() {
		if len(members) == 0 || slices.Contains(members, i) {
			addresses = append(addresses, address)
		}
	}
	opts.Lease, opts.Logger = l.lease, slog.New(slog.NewTextHandler(io.Discard, nil))
	c, err := zklock.NewClient(addresses, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// play has two clients take turns.
func (l *lab) play(t *testing.T) *contest.Team {
	t.Helper()
	return contest.Play(t, [2]lock.Provider{l.client(t, zklock.Options{}), l.client(t, zklock.Options{})})
}

// keep has a client hold a lock all the time.
func (l *lab) keep(t *testing.T, name string) *contest.Keeper {
	t.Helper()
	return contest.Keep(t, func(o *lock.Observer) lock.Provider { return l.client(t, zklock.Options{Observer: o}) }, name)
}
