package multilock_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// stressed is one caller's hold of one name.
type stressed struct{ began, ended, fence int64 }

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
	var children []*stressProcess
	for range 3 {
		p := faultproxy.Start(t, server.Addr())
		proxies = append(proxies, p)
		children = append(children, startStress(t, p.Addr(), span))
	}
	faults := disturb(t, server, proxies, span)
	for _, c := range children {
		c.until(t, "healed", span+4*patience)
	}
	believed := make(map[int][]stressed)
	for _, c := range children {
		_, err := io.WriteString(c.in, "go\n")
		require.NoError(t, err)
		c.until(t, "done", 4*patience)
		require.Empty(t, c.failed)
		for n, all := range c.held {
			believed[n] = append(believed[n], all...)
		}
	}
	holds := 0
	for n, all := range believed {
		holds += len(all)
		checkStressed(t, n, all)
	}
	require.Len(t, believed, stressNames)
	require.Positive(t, faults)
	t.Logf("%d holds of %d names, %d faults", holds, len(believed), faults)
	redistest.Eventually(t, patience, func() bool {
		for _, key := range server.Keys(t) {
			if !strings.HasPrefix(key, "redisson_lock_token:") {
				return false
			}
		}
		return true
	}, "locks are left")
}

// checkStressed finds no overlap, and tokens in order.
func checkStressed(t *testing.T, n int, all []stressed) {
	t.Helper()
	sort.Slice(all, func(i, j int) bool { return all[i].began < all[j].began })
	for i := 1; i < len(all); i++ {
		require.GreaterOrEqual(t, all[i].began, all[i-1].ended, "two held name %d", n)
		require.Greater(t, all[i].fence, all[i-1].fence, "tokens of name %d", n)
	}
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

type stressProcess struct {
	in     io.Writer
	lines  chan string
	held   map[int][]stressed
	failed []string
}

func startStress(t *testing.T, addr string, span time.Duration) *stressProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=stress", stressAddr+"="+addr, stressFor+"="+span.String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &stressProcess{in: in, lines: make(chan string, 1<<20), held: make(map[int][]stressed)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range c.lines {
		}
		<-ended
		_ = cmd.Wait()
	})
	return c
}

// until reads what the child tells, up to a line.
func (c *stressProcess) until(t *testing.T, last string, limit time.Duration) {
	t.Helper()
	over := time.After(limit)
	for {
		select {
		case line, ok := <-c.lines:
			require.True(t, ok, "a child has ended")
			if line == last {
				return
			}
			c.take(t, line)
		case <-over:
			t.Fatalf("a child did not come to %q", last)
		}
	}
}

func (c *stressProcess) take(t *testing.T, line string) {
	t.Helper()
	if strings.HasPrefix(line, "failed") {
		c.failed = append(c.failed, line)
		return
	}
	var n int
	var s stressed
	_, err := fmt.Sscanf(line, "held %d %d %d %d", &n, &s.began, &s.ended, &s.fence)
	require.NoError(t, err, line)
	c.held[n] = append(c.held[n], s)
}
