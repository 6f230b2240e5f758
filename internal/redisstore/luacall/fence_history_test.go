package luacall_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
)

// TestTokenHistories mints through random years: pauses of all lengths, clocks that step
// back, tokens that Java took. After each mint the token must have grown, and
// the key must have fenceTTL left to live.
func TestTokenHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			for range 300 {
				h.pause()
				h.mint()
			}
		})
	}
}

type history struct {
	*place
	server *miniredis.Miniredis
	random *rand.Rand
	ttl    time.Duration
	clock  time.Time
	last   int64
}

func newHistory(t *testing.T, seed uint64) *history {
	server := embedded.Miniredis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	random := rand.New(rand.NewPCG(seed, 0))
	ttls := []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, time.Hour, 999 * time.Hour}
	return &history{
		place: newPlace(t, rdb), server: server, random: random,
		ttl:   ttls[random.IntN(len(ttls))],
		clock: time.Date(2026, 1, 1, 0, 0, 0, random.IntN(1_000_000_000), time.UTC),
	}
}

// pause lets time pass, mostly less than the token's life.
func (h *history) pause() {
	d := time.Duration(h.random.Int64N(int64(h.ttl)/3 + 1))
	switch h.random.IntN(20) {
	case 0:
		d *= 5
	case 1:
		d = 0
	case 2:
		h.setBack(d * time.Duration(h.random.IntN(4)))
	case 3: // Java
		if h.server.Exists(h.token) {
			h.last = h.do("INCR %s", h.token).(int64)
		}
	}
	h.clock = h.clock.Add(d)
	h.server.SetTime(h.clock)
	h.server.FastForward(d)
}

// setBack sets the clock back. Keys expire at a time of the clock, so they live longer.
func (h *history) setBack(d time.Duration) {
	h.clock = h.clock.Add(-d)
	if h.server.Exists(h.token) {
		h.server.SetTTL(h.token, h.server.TTL(h.token)+d)
	}
}

func (h *history) mint() {
	h.t.Helper()
	got := h.place.mint(h.ttl.Milliseconds())
	require.Equal(h.t, h.clock.UnixMicro(), got.Now)
	require.Greater(h.t, got.Fence, h.last)
	require.Equal(h.t, got.Fence, h.stored())
	h.last = got.Fence
	// A token of Java's can lie in the next quarter by the microsecond that it is ahead.
	require.GreaterOrEqual(h.t, h.server.TTL(h.token), h.ttl-time.Millisecond)
}
