package semaphore_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A renewal script is bounded by permits and not by holds, so that holds of many permits do not stop Redis for long:
// it renews at most 2,000 (defect B16).
func TestPermitsInOneRenewal(t *testing.T) {
	t.Parallel()
	const holds, each, bound = 5, 1000, 2000
	l := newLab(t, nil)
	var most atomic.Int64 // permits in one script
	l.proxy.On(func(r faultproxy.Request) bool {
		if r.SHA() == luacall.SHA("permit_renew") {
			many, _ := strconv.ParseInt(string(r.Args[2]), 10, 64) // keys, one for each hold
			most.Store(max(most.Load(), each*many))
		}
		return false // it is only looked at
	}, faultproxy.DropReply)
	s := l.leased(holds * each)
	for range holds {
		_, release, err := s.Acquire(l.bounded(), each)
		require.NoError(t, err)
		defer func() { require.NoError(t, release()) }()
	}
	redistest.Eventually(t, patience, func() bool { return most.Load() > 0 }, "they are renewed")
	l.quietly()
	l.quietly() // a third of a lease has passed, and all were renewed
	l.quietly()
	require.LessOrEqual(t, most.Load(), int64(bound))
}
