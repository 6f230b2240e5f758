package engine

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// replaceable is a reclaimer's surroundings, and what was handed to that; nothing is sent.
func replaceable(t *testing.T) *Engine {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"redis.test:1"},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			return nil, net.ErrClosed
		},
	})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	conns, err := links.From(rdb, links.Limits{Command: time.Second, Life: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conns.Close()) })
	e := &Engine{
		store: redisstore.New(conns, 0),
		cfg:   Config{ClientID: "client"}, clock: watchdog.NewClock(), closing: make(chan struct{}),
		closed: true, // so that nothing is begun
	}
	e.recent.engine, e.reclaim.engine = e, e
	return e
}

// keyed is a protocol of which only the key is asked for.
type keyed struct{ store.Protocol }

func (keyed) Key() string { return "k" }

func numbers(ends []parting) (all []holdNumber) {
	for _, end := range ends {
		all = append(all, end.number)
	}
	return all
}

// defect B3: what was released lately is remembered in its order, up to a number, and for a time.
func TestRecentReleasesAreRemembered(t *testing.T) {
	e := replaceable(t)
	r := &e.recent
	for n := range holdNumber(3) {
		r.add(r.era(), nil, e.idOf(n+1))
	}
	require.Equal(t, []holdNumber{1, 2, 3}, numbers(r.all()))
	r.ends[r.first].at -= recentFor + time.Second
	require.Equal(t, []holdNumber{2, 3}, numbers(r.all()), "the first is too old")
	for n := range holdNumber(2 * maxRecent) {
		r.add(r.era(), nil, e.idOf(n+1))
	}
	all := numbers(r.all())
	require.Equal(t, maxRecent, len(all))
	require.Equal(t, holdNumber(2*maxRecent), all[maxRecent-1], "the newest are kept")
	require.LessOrEqual(t, cap(r.ends), 4*maxRecent)
}

// defect B3: a release that was asked for before a primary was replaced, and confirmed after, may be of either.
func TestAReleaseAcrossAReplacementIsRepeated(t *testing.T) {
	e := replaceable(t)
	era := e.recent.era()
	require.Empty(t, e.recent.all())
	e.recent.add(era, keyed{}, e.idOf(7))
	e.recent.add(e.recent.era(), keyed{}, e.idOf(8))
	left := e.reclaim.rest()
	require.Len(t, left, 1, "the second one was asked of the new one")
	require.Equal(t, e.idOf(7), left[0].id)
}
