package request

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// replaceable is a Sender whose primary can be replaced; it is closed, so that nothing is sent.
func replaceable(t *testing.T) *Sender {
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
	s := New(Config{Store: redisstore.New(conns, redisstore.Confirmation{}), Clock: watchdog.NewClock()})
	require.True(t, s.Close())
	return s
}

// keyed is a protocol of which only the key and the traits are asked for.
type keyed struct{ store.Protocol }

func (keyed) Key() string { return "k" }

func (keyed) Traits() *store.Traits { return &store.Traits{} }

func ids(ends []end) (all []string) {
	for _, end := range ends {
		all = append(all, end.id)
	}
	return all
}

// defect B3: what was released lately is remembered in its order, up to a number, and for a time.
func TestRecentReleasesAreRemembered(t *testing.T) {
	r := &replaceable(t).ledger
	for n := range 3 {
		r.confirm(r.era(), nil, strconv.Itoa(n))
	}
	require.Equal(t, []string{"0", "1", "2"}, ids(r.replace()))
	r.ended[r.first].at -= endedFor + time.Second
	require.Equal(t, []string{"1", "2"}, ids(r.replace()), "the first is too old")
	for n := range 2 * maxEnded {
		r.confirm(r.era(), nil, strconv.Itoa(n))
	}
	all := ids(r.replace())
	require.Equal(t, maxEnded, len(all))
	require.Equal(t, strconv.Itoa(2*maxEnded-1), all[maxEnded-1], "the newest are kept")
	require.LessOrEqual(t, cap(r.ended), 4*maxEnded)
}

// defect B3: a release that was asked for before a primary was replaced, and confirmed after, may be of either.
func TestAReleaseAcrossAReplacementIsRepeated(t *testing.T) {
	s := replaceable(t)
	era := s.ledger.era()
	require.Empty(t, s.ledger.replace())
	s.ledger.confirm(era, keyed{}, "7")
	s.ledger.confirm(s.ledger.era(), keyed{}, "8")
	left := s.ledger.rest()
	require.Len(t, left, 1, "the second one was asked of the new one")
	require.Equal(t, "7", left[0].ID)
}
