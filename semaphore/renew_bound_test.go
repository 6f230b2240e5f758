package semaphore_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/opendefect"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// defect B16: a renewal script is bounded by holds and not by permits, so that holds of many permits stop
// Redis for long. It should touch at most 2,000 permits.
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
	opendefect.Shows(t, "B16", `^a renewal of [345]000 permits`, func() error {
		redistest.Eventually(t, patience, func() bool { return most.Load() > 0 }, "they are renewed")
		l.quietly()
		l.quietly() // a third of a lease has passed, and all were renewed
		l.quietly()
		if got := most.Load(); got > bound {
			return fmt.Errorf("a renewal of %d permits in one script", got)
		}
		return nil
	})
}
