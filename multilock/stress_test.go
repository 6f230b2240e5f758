package multilock_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// Fifty goroutines in three processes take random overlapping sets of locks while the network and Redis misbehave: no
// two hold one name at a time, tokens are in order, no call hangs when the faults are over, and nothing is left.
// HOLDFAST_MULTILOCK_STRESS=60s makes it a minute.
func TestRandomSetsUnderFaults(t *testing.T) {
	span := 6 * time.Second
	if text := os.Getenv("HOLDFAST_MULTILOCK_STRESS"); text != "" {
		var err error
		span, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	server := redistest.Start(t)
	var proxies []*faultproxy.Proxy
	var children []*role.Process
	for range 3 {
		p := faultproxy.Start(t, server.Addr())
		proxies = append(proxies, p)
		children = append(children, stress.Start(t, stressOrders{Addr: p.Addr(), Span: span}))
	}
	faults := disturb(t, server, proxies, span)
	var holds []witness.Hold
	for _, c := range children {
		holds = append(holds, witness.Heard(t, c, "healed", 4*patience)...)
	}
	for _, c := range children {
		c.Say("go")
		holds = append(holds, witness.Heard(t, c, "done", 4*patience)...)
		require.NoError(t, c.Ended(patience))
	}
	require.NoError(t, witness.Judge(holds))
	names := make(map[string]bool)
	for _, h := range holds {
		names[h.Name] = true
	}
	require.Len(t, names, stressNames)
	require.Positive(t, faults)
	t.Logf("%d holds of %d names, %d faults", len(holds), len(names), faults)
	redistest.Eventually(t, patience, func() bool {
		for _, key := range server.Keys(t) {
			if !strings.HasPrefix(key, "redisson_lock_token:") {
				return false
			}
		}
		return true
	}, "locks are left")
}

// disturb causes faults at random until the span is over, and mends everything. It returns how many.
func disturb(
	t *testing.T, server *redistest.Server, proxies []*faultproxy.Proxy, span time.Duration,
) (faults int) {
	actions := []faultproxy.Action{
		faultproxy.DropReply, faultproxy.CutAfter, faultproxy.CutBefore, faultproxy.DropRequest,
		faultproxy.Duplicate, faultproxy.Delay(30 * time.Millisecond),
	}
	for began := time.Now(); time.Since(began) < span; faults++ {
		p := proxies[rand.IntN(len(proxies))]
		switch rand.IntN(10) {
		case 0:
			require.NoError(t, server.Client(t).ScriptFlush(t.Context()).Err())
		case 1:
			p.CutAll()
		case 2:
			p.SwallowMessages(true)
			time.Sleep(50 * time.Millisecond)
			p.SwallowMessages(false)
		case 3:
			server.Stop()
			time.Sleep(30 * time.Millisecond)
			server.Continue()
		default:
			p.On(faultproxy.AnyScript, actions[rand.IntN(len(actions))]).Wait(t, 1)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return faults
}
