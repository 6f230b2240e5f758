package fairlock_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A waiter that came while its process was taking the lock is registered, and has not asked yet, when the
// lock is released: it is invited all the same, before a waiter of another process that came after it, and
// its first question takes the lock. It was taken for dead, and then waited for its queue to settle: two
// seconds, or five with a long poll (defect B1).
func TestAWaiterThatNeverAskedIsInvited(t *testing.T) {
	t.Parallel()
	for _, rival := range []bool{false, true} {
		t.Run(fmt.Sprint("another process waits: ", rival), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			proxy := faultproxy.Start(t, l.server.Addr())
			p, other := l.peerAt(proxy.Addr(), rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
			p.warm()
			other.warm()
			taking, registering := faultproxy.NewGate(), faultproxy.NewGate()
			defer taking.Open()
			defer registering.Open()
			take := proxy.On(faultproxy.Script(luacall.SHA("fair_acquire")), faultproxy.HoldReply(taking))
			register := proxy.On(faultproxy.Script(luacall.SHA("fair_enqueue")), faultproxy.HoldReply(registering))
			first := p.start(context.Background())
			take.Wait(t, 1)
			second := p.start(context.Background())
			register.Wait(t, 1)
			l.queued(1)
			var last <-chan hold
			if rival {
				last = other.wait()
			}
			taking.Open()
			holder := l.arrives(first)
			client, _, _ := strings.Cut(holder.known(t).ID, ":")
			holder.frees(t)
			invited := l.rdb.HKeys(context.Background(), l.name).Val()
			require.Len(t, invited, 1, "nobody is invited")
			require.True(t, strings.HasPrefix(invited[0], client+":"), "one that came later is invited")
			asks := proxy.On(faultproxy.Script(luacall.SHA("fair_acquire")), faultproxy.Pass).Times(-1)
			registering.Open()
			h := l.arrives(second)
			asks.Wait(t, 1)
			require.Equal(t, 1, asks.Fired(), "its first question takes the lock")
			h.frees(t)
			if rival {
				l.arrives(last).frees(t)
			}
			l.clean()
		})
	}
}

// Nobody waits for a time in the first turns of a name and of its clients: every one comes by a message, or
// by a question that its own arrival asks (defect B1). The times that a turn could wait for show in Redis: an
// invitation that nobody takes up expires, and a queue that has to settle is noted with the time when it will
// have.
func TestFirstTurnsWaitForNoTimer(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{1, 2, 8} {
		for _, goroutines := range []int{2, 8, 64} {
			t.Run(fmt.Sprint(clients, " clients of ", goroutines), func(t *testing.T) {
				l := labOn(t, redistest.Start(t))
				monitor := l.server.Monitor(t)
				var peers []*peer
				for range clients {
					peers = append(peers, l.peer(rlock.ClientOptions{}))
				}
				l.everybodyOnce(peers, goroutines)
				l.clean()
				require.Zero(t, l.expired(), "an invitation was not taken up")
				l.rdb.Echo(context.Background(), "end")
				redistest.Eventually(t, patience, func() bool {
					return slices.ContainsFunc(monitor.Lines(), func(line string) bool {
						return strings.Contains(line, `"end"`)
					})
				}, "the monitor is behind")
				for _, line := range monitor.Lines() {
					if free := keptFree.FindStringSubmatch(line); free != nil {
						require.LessOrEqual(t, number(t, free[2])-number(t, free[1]), pause, "the queue had to settle")
					}
				}
			})
		}
	}
}

// keptFree matches the record of a queue whose lock is kept free: since when, and until when.
var keptFree = regexp.MustCompile(`"clock" "(\d+)" "out" "([1-9]\d*)"`)

// pause is for how many milliseconds a lock is kept free that went from one to the next for a second.
const pause = 50

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// everybodyOnce has every goroutine of every peer take the lock once, all at the same time.
func (l *lab) everybodyOnce(peers []*peer, goroutines int) {
	l.Helper()
	var inside atomic.Int64
	var done sync.WaitGroup
	start := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for _, p := range peers {
		for range goroutines {
			done.Go(func() {
				<-start
				_, unlock, err := p.Lock.Lock(ctx)
				if !assert.NoError(l, err) {
					return
				}
				assert.Equal(l, int64(1), inside.Add(1), "two at once")
				inside.Add(-1)
				assert.NoError(l, unlock())
			})
		}
	}
	close(start)
	done.Wait()
}

// expired is how many keys the server saw expire.
func (l *lab) expired() int {
	l.Helper()
	for line := range strings.Lines(l.rdb.Info(context.Background(), "stats").Val()) {
		if n, found := strings.CutPrefix(strings.TrimSpace(line), "expired_keys:"); found {
			return number(l, n)
		}
	}
	l.Fatal("the server does not count what expires")
	return 0
}

// A waiter that is invited before its subscription stands looks again when it does (defect B1): until then
// it hears nothing, and nothing else would have it ask, for the poll is an hour and so is what it was told to wait.
func TestAWaiterThatDoesNotHearYetIsInvited(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := faultproxy.Start(t, l.server.Addr())
	p, rival := l.peerAt(proxy.Addr(), rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := rival.take()
	deaf := faultproxy.NewGate()
	defer deaf.Open()
	subscribe := proxy.On(faultproxy.Command("subscribe"), faultproxy.HoldRequest(deaf))
	second := p.start(context.Background())
	subscribe.Wait(t, 1)
	l.queued(1)
	first.frees(t)
	require.Equal(t, []string{"1000000000"}, l.rdb.HVals(context.Background(), l.name).Val(), "one is invited")
	deaf.Open()
	l.arrives(second).frees(t)
	l.clean()
}
