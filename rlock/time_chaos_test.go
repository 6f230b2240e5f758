package rlock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// timeBelief records which owner of one lock treats its hold as live, in the order of events.
type timeBelief struct {
	mu    sync.Mutex // guards what follows
	who   string
	ctx   context.Context
	fence int64
	holds int
	wrong []string
}

// begin records that an owner holds. The holder before must have stopped by now: its unlock was
// called, or its context has ended.
func (b *timeBelief) begin(who string, ctx context.Context, fence int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil && b.ctx.Err() == nil && ctx.Err() == nil {
		b.wrong = append(b.wrong, fmt.Sprintf("%v: %s holds, and %s as well", time.Now(), who, b.who))
	}
	if fence <= b.fence {
		b.wrong = append(b.wrong, fmt.Sprintf("%v: token %d of %s after %d", time.Now(), fence, who, b.fence))
	}
	b.who, b.ctx, b.fence = who, ctx, fence
	b.holds++
}

// end notes that an owner is about to unlock.
func (b *timeBelief) end(who string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.who == who {
		b.who, b.ctx = "", nil
	}
}

// timeChaos is one run: owners of one lock in two clients, and a network that is random.
type timeChaos struct {
	*timeBelief
	t      *testing.T
	random func(n int) int // below n; safe for concurrent use
	until  time.Time
}

func newTimeChaos(t *testing.T, seed uint64, long time.Duration) *timeChaos {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 2))
	return &timeChaos{
		timeBelief: &timeBelief{}, t: t, until: time.Now().Add(long),
		random: func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return source.IntN(n)
		},
	}
}

func (c *timeChaos) upTo(d time.Duration) time.Duration {
	return time.Duration(c.random(int(d/time.Millisecond))) * time.Millisecond
}

// fault is the network in bad times: about one request in six is mistreated.
func (c *timeChaos) fault(_ int, args []string) simredis.Verdict {
	switch c.random(40) {
	case 0:
		return simredis.DropReply
	case 1:
		return simredis.DropRequest
	case 2:
		return simredis.Cut
	case 3:
		if args[0] == "subscribe" {
			return simredis.Cut
		}
		return simredis.CutAfter
	case 4:
		return simredis.Delay(c.upTo(time.Second))
	case 5:
		return simredis.Delay(c.upTo(time.Minute)) // longer than a lease: read when all is over
	}
	return simredis.Pass
}

// beset has a fault for everything but the greeting of a new connection: go-redis waits for the answer
// to that with a subscription's mutex locked, and the clock of a bubble stands still while another
// goroutine waits for a mutex.
func (c *timeChaos) beset(sim *timeSim, fault simredis.Fault) {
	sim.suffer(func(conn int, args []string) simredis.Verdict {
		if args[0] == "hello" || args[0] == "client" {
			return simredis.Pass
		}
		return fault(conn, args)
	})
}

// weather changes between bad times, silence, a frozen server and calm.
func (c *timeChaos) weather(sim *timeSim) {
	for time.Now().Before(c.until) {
		switch c.random(6) {
		case 0:
			c.beset(sim, timeAlways(simredis.DropRequest))
			time.Sleep(c.upTo(45 * time.Second))
		case 1:
			thaw := time.Now().Add(c.upTo(45 * time.Second))
			c.beset(sim, func(int, []string) simredis.Verdict {
				return simredis.Delay(time.Until(thaw)) // as if by SIGSTOP
			})
			time.Sleep(time.Until(thaw))
		case 2:
			sim.suffer(nil)
			time.Sleep(c.upTo(time.Minute))
		default:
			c.beset(sim, c.fault)
			time.Sleep(c.upTo(3 * time.Minute))
		}
	}
	sim.suffer(nil)
}

// own is one owner's life.
func (c *timeChaos) own(client *rlock.Client, who string) {
	for n := 0; time.Now().Before(c.until); n++ {
		c.hold(client, fmt.Sprintf("%s/%d", who, n))
		time.Sleep(c.upTo(5 * time.Second))
	}
}

func (c *timeChaos) lock(client *rlock.Client) *rlock.Lock {
	switch c.random(5) {
	case 0:
		return rlock.New(client, "order", rlock.FixedLease(time.Second+c.upTo(20*time.Second)))
	case 1:
		return rlock.New(client, "order", rlock.MaxHold(time.Second+c.upTo(20*time.Second)))
	}
	return rlock.New(client, "order")
}

func (c *timeChaos) hold(client *rlock.Client, who string) {
	lock := c.lock(client)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second+c.upTo(time.Minute))
	defer cancel()
	try := lock.Lock
	if c.random(4) == 0 {
		try = lock.TryLock
	}
	held, unlock, err := try(ctx)
	if !c.known(err) || err != nil {
		return
	}
	// A hold may be lost before Held is asked; it was live all the same, without a token.
	if h, err := lock.Held(context.WithoutCancel(held)); err == nil {
		c.begin(who, held, h.Fence)
	}
	c.work(held, lock, 3)
	c.end(who)
	c.known(unlock())
}

// work takes its time, re-enters, and goes on after its context ended, as real work does.
func (c *timeChaos) work(ctx context.Context, lock *rlock.Lock, depth int) {
	time.Sleep(c.upTo(20 * time.Second))
	if depth == 0 || c.random(3) > 0 {
		return
	}
	inner, unlock, err := lock.Lock(ctx)
	c.known(err)
	if err == nil {
		c.work(inner, lock, depth-1)
		c.known(unlock())
	}
}

// known reports whether an error is one that the faults explain.
func (c *timeChaos) known(err error) bool {
	if err == nil {
		return true
	}
	for _, word := range []error{
		rlock.ErrBusy, rlock.ErrUnavailable, rlock.ErrLost, rlock.ErrUnconfirmed, context.DeadlineExceeded,
	} {
		if errors.Is(err, word) {
			return true
		}
	}
	c.t.Errorf("an error that nothing explains: %v", err)
	return false
}

// G1, G2, G4, G13 under random faults, hours of them: never two live holds, tokens in order, and in
// the end, when the network works again, nothing is held, sent or left in Redis but the token.
func TestNoTwoBelieversWhateverTheNetworkDoes(t *testing.T) {
	t.Parallel()
	// More by HOLDFAST_SEEDS; a hundred take some minutes.
	seeds, err := strconv.ParseUint(cmp.Or(os.Getenv("HOLDFAST_SEEDS"), "4"), 10, 32)
	require.NoError(t, err)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) { timeRunChaos(t, sim, seed) })
		})
	}
}

func timeRunChaos(t *testing.T, sim *timeSim, seed uint64) {
	opts := rlock.ClientOptions{Lease: 15 * time.Second, MaxPoll: 5 * time.Second}
	clients := []*rlock.Client{sim.client(t, opts), sim.client(t, opts)}
	const long = time.Hour
	c := newTimeChaos(t, seed, long)
	var all sync.WaitGroup
	all.Go(func() { c.weather(sim) })
	for i, client := range clients {
		for j := range 2 {
			all.Go(func() { c.own(client, fmt.Sprintf("client %d owner %d", i, j)) })
		}
	}
	all.Wait()
	require.Empty(t, c.wrong)
	require.Greater(t, c.holds, int(long/time.Minute), "it got on all the while")

	// The longest delay ends a minute later; then a reclaimer has a lease at most.
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	require.ElementsMatch(t, []string{fenceKey("order"), fenceKey("warm")}, sim.Miniredis().Keys())
	scripts := []string{"acquire", "renew", "release", "levels"}
	before := 0
	for _, script := range scripts {
		before += sim.count(script)
	}
	time.Sleep(time.Hour)
	for _, script := range scripts {
		before -= sim.count(script)
	}
	require.Zero(t, before, "nothing is sent any more")
	hold := timeLock(t, context.Background(), rlock.New(clients[0], "order"))
	require.NoError(t, hold.unlock())
}
