package luacall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// randomOps is how many operations the test below makes of a semaphore.
const randomOps = 40_000

// liveHold is a hold that its owner may treat as live.
type liveHold struct {
	id    string
	count int64
	until time.Time // of this process's clock; not later than Redis's
}

// chance drives one semaphore by a seed.
type chance struct {
	*sem
	*rand.Rand
	capacity  int64
	holds     []liveHold
	calls     []func() // sent before, to be sent again at any time
	held      int      // acquisitions that were granted
	refusals  int
	forgotten int // holds whose owner died
	again     int
}

// needs 11: whatever is acquired, released, renewed, lost by a crash, sent again or late, and however the capacity
// changes meanwhile, free and taken permits add up to the capacity, and no holder has more live permits, together
// with all others, than there are.
func TestHeldPermitsNeverExceedTheCapacity(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chance{
		sem: newSem(newPlace(t, startServer(t).Client(t))), Rand: rand.New(rand.NewPCG(seed, 0)), capacity: 20,
	}
	c.sem.capacity(c.capacity)
	for op := range randomOps {
		c.step()
		if op%10 == 0 {
			c.adds()
		}
	}
	c.adds()
	t.Logf("granted %d, refused %d, died %d, sent again %d", c.held, c.refusals, c.forgotten, c.again)
	for _, n := range []int{c.held, c.refusals, c.forgotten, c.again} {
		require.Greater(t, n, randomOps/100, "the test has to do all of it")
	}
	c.comesBack()
}

func (c *chance) step() {
	switch n := c.IntN(100); {
	case n < 45:
		c.acquire()
	case n < 70:
		c.release()
	case n < 80:
		c.renew()
	case n < 85 && len(c.holds) > 0: // its owner dies
		c.holds = slices.Delete(c.holds, 0, 1)
		c.forgotten++
	case n < 99 && len(c.calls) > 0: // a copy comes
		c.again++
		c.calls[c.IntN(len(c.calls))]()
	case n == 99:
		c.resize()
	}
}

// remember keeps a request for later.
func (c *chance) remember(send func()) {
	if len(c.calls) < 50 {
		c.calls = append(c.calls, send)
		return
	}
	c.calls[c.IntN(len(c.calls))] = send
}

// acquire asks in time, or when it is too late already.
func (c *chance) acquire() {
	hold := luacall.PermitHold{ID: fmt.Sprintf("c:%d", names.Add(1)), Count: c.Int64N(5) + 1}
	lease := []int64{3, 5, 10}[c.IntN(3)]
	start := time.Now()
	call := luacall.PermitAcquire(c.keys, hold, lease, c.now()+c.Int64N(20_000)-1000)
	reply, err := call.Run(c.t.Context(), c.rdb)
	c.remember(func() { _, _ = call.Run(c.t.Context(), c.rdb) })
	if _, impossible := luacall.Capacity(err); impossible {
		require.Greater(c.t, hold.Count, c.capacity)
		return
	}
	require.NoError(c.t, err)
	if reply.Status != luacall.Held {
		c.refusals++
		return
	}
	c.held++
	c.holds = append(c.holds, liveHold{
		hold.ID, hold.Count, start.Add(time.Duration(lease-2) * time.Millisecond),
	})
	now, believed := time.Now(), int64(0)
	c.holds = slices.DeleteFunc(c.holds, func(h liveHold) bool { return now.After(h.until) })
	for _, h := range c.holds {
		believed += h.count
	}
	require.LessOrEqual(c.t, believed, c.capacity, "more permits are held than there are")
}

func (c *chance) release() {
	if len(c.holds) == 0 {
		return
	}
	i := c.IntN(len(c.holds))
	h := c.holds[i]
	c.holds = slices.Delete(c.holds, i, i+1)
	call := c.back(h.id, h.count)
	alive := time.Now().Before(h.until.Add(-time.Millisecond))
	if reply := run(c.place, call); alive && time.Now().Before(h.until) {
		require.Equal(c.t, luacall.Done, reply.Status, "it was valid")
	}
	c.remember(func() { run(c.place, call) })
}

func (c *chance) renew() {
	if len(c.holds) == 0 {
		return
	}
	h := &c.holds[c.IntN(len(c.holds))]
	call := luacall.PermitRenew([]string{c.keys.Leases}, []string{h.id}, h.count, []int64{10})
	start := time.Now()
	if run(c.place, call)[0] == luacall.Renewed {
		h.until = start.Add(8 * time.Millisecond)
	}
	c.remember(func() { run(c.place, call) })
}

// resize sets a capacity, and has its request come again after a later one.
func (c *chance) resize() {
	set := func() *luacall.Call[luacall.CountReply] {
		c.capacity = c.Int64N(30)
		return luacall.PermitCapacity(c.keys, c.capacity, c.request())
	}
	first, second := set(), set()
	for _, call := range []*luacall.Call[luacall.CountReply]{first, second} {
		require.Equal(c.t, luacall.Done, run(c.place, call).Status)
	}
	require.Equal(c.t, luacall.Already, run(c.place, first).Status)
}

// adds asserts the sum.
func (c *chance) adds() {
	free, err := c.rdb.Get(c.t.Context(), c.lock).Int64()
	require.NoError(c.t, err)
	taken := c.rdb.ZCard(c.t.Context(), c.token).Val()
	require.Equal(c.t, c.capacity, free+taken, "%d free, %d taken", free, taken)
}

// comesBack asserts that in the end one caller can take all permits.
func (c *chance) comesBack() {
	c.sem.capacity(30)
	for _, h := range c.holds {
		run(c.place, c.back(h.id, h.count))
	}
	past := luacall.PermitHold{ID: "last:1", Count: 30}
	left := c.rdb.ZRangeWithScores(c.t.Context(), c.token, 0, -1).Val()
	for _, permit := range left { // of holders that died
		c.rdb.ZAdd(c.t.Context(), c.token, redis.Z{Score: 1000, Member: permit.Member})
	}
	require.Equal(c.t, luacall.Held, run(c.place, luacall.PermitAcquire(c.keys, past, lease, never)).Status)
	c.sums(0, 30)
}
