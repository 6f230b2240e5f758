package links_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// behind derives clients that reach a primary and its Sentinels on a path. Only the application's dialer can make their
// connections, so each new one needs a Sentinel.
func behind(t *testing.T, command time.Duration) (*links.Links, *netfault.Path, *redistest.SentinelLab) {
	lab, path := redistest.Sentinel(t), new(netfault.Path)
	o := lab.Options()
	o.Dialer = path.Dial
	rdb := redis.NewFailoverClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	l, err := links.From(rdb, links.Limits{Command: command, Life: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, path, lab
}

// A balancer that forgets connections forgets those to the Sentinels, too. One exchange finds that out; the next one
// has its connection within its own time, for which a Sentinel is asked by a new one (defect G3). Go-redis itself waits
// for its ReadTimeout, and then for it once more.
func TestForgottenConnectionsToSentinelsCostNoExchange(t *testing.T) {
	t.Parallel()
	const command = 2 * time.Second
	l, path, _ := behind(t, command)
	for range 3 {
		require.NoError(t, echo(t.Context(), l.Traffic, "it answers"))
		require.Positive(t, path.Forget())
		require.Error(t, echo(links.Within(t.Context(), command/4), l.Traffic, "forgotten"))
		require.NoError(t, echo(links.Within(t.Context(), command), l.Traffic, "by a new one"))
	}
}

// Where nobody gets a new connection, ROLE is asked on those that are there. An answer that is late costs none of them
// (defect G2).
func TestALateRoleCostsNoConnection(t *testing.T) {
	t.Parallel()
	l, path, lab := behind(t, eventually)
	primary := lab.Primary(t)
	require.NoError(t, echo(t.Context(), l.Traffic, "it answers"))
	path.Refuse(true)
	path.Slow(600 * time.Millisecond)
	redistest.Eventually(t, eventually, func() bool {
		var calls int
		_, _ = fmt.Sscanf(primary.Info(t, "commandstats")["cmdstat_role"], "calls=%d,", &calls)
		return calls >= 3
	}, "the role cannot be asked for any more")
	redistest.Eventually(t, eventually, func() bool { return echo(t.Context(), l.Traffic, "it is there") == nil },
		"the connection was closed")
}
