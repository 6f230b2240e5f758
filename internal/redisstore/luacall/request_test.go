package luacall_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// remembered are the requests of the name, each with the time until which it is remembered.
func (s *sem) remembered() map[string]int64 {
	s.t.Helper()
	all := make(map[string]int64)
	found, err := s.rdb.ZRangeWithScores(s.t.Context(), s.requests(), 0, -1).Result()
	require.NoError(s.t, err)
	for _, z := range found {
		all[z.Member.(string)] = int64(z.Score)
	}
	return all
}

// defect A2: a request that changed nothing is remembered until its not-after, so that no copy of it changes
// anything.
func TestARequestThatChangedNothingIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		call  func(c *tally, r luacall.Request) *luacall.Call[luacall.CountReply]
		free  string // the number that it finds
		after string // and the number that its copy finds
		copy  luacall.Status
	}{
		"count down": {func(c *tally, r luacall.Request) *luacall.Call[luacall.CountReply] {
			return luacall.LatchDown(c.latch, r)
		}, "", "1", luacall.Already},
		"delete": {func(c *tally, r luacall.Request) *luacall.Call[luacall.CountReply] {
			return luacall.LatchDelete(c.latch, r)
		}, "", "3", luacall.Already},
		"start": {func(c *tally, r luacall.Request) *luacall.Call[luacall.CountReply] {
			return luacall.LatchSet(c.latch, 2, r)
		}, "1", "", luacall.Busy},
		"set": {func(c *tally, r luacall.Request) *luacall.Call[luacall.CountReply] {
			return luacall.CountSet(c.keys, 2, r)
		}, "0", "", luacall.Busy},
		"drain": {func(c *tally, r luacall.Request) *luacall.Call[luacall.CountReply] {
			return luacall.CountDrain(c.keys, r)
		}, "0", "5", luacall.Already},
	} {
		t.Run(name, func(t *testing.T) {
			tallies(t, func(t *testing.T, tally *tally) {
				put := func(number string) {
					tally.do("DEL %s", tally.lock)
					if number != "" {
						tally.do("SET %s "+number, tally.lock)
					}
				}
				put(c.free)
				r := tally.request()
				call := c.call(tally, r)
				run(tally.place, call)
				require.Equal(t, map[string]int64{r.ID + "!": (r.NotAfter + 999) / 1000}, tally.remembered())
				put(c.after)
				require.Equal(t, c.copy, run(tally.place, call).Status)
				tally.is(c.after)

				r.NotAfter += 5_000_000 // sent again, and copies of that one come later
				run(tally.place, c.call(tally, r))
				tally.is(c.after)
				require.Equal(t, map[string]int64{r.ID + "!": (r.NotAfter + 999) / 1000}, tally.remembered())
				run(tally.place, call)
				require.Equal(t, map[string]int64{r.ID + "!": (r.NotAfter + 999) / 1000}, tally.remembered(),
					"a copy that was overtaken shortens nothing")
			})
		})
	}
}

// defect A2: an attempt that is not repeated takes nothing later; one that is repeated may.
func TestAnAttemptThatIsNotRepeated(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		once, again := c.request(), c.request()
		c.do("SET %s 0", c.lock)
		require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 1, true, once)).Status)
		require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 1, false, again)).Status)
		require.Contains(t, c.remembered(), once.ID+"!")
		require.Len(t, c.remembered(), 1)
		c.do("SET %s 3", c.lock)
		require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 1, true, once)).Status)
		require.Equal(t, luacall.Held, run(c.place, luacall.CountAcquire(c.keys, 1, false, again)).Status)
		c.is("2")
	})
}

func TestACountThatIsTooGreatStaysRefused(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		c.do("SET %s %d", c.lock, luacall.MaxCount)
		call := luacall.CountRelease(c.keys, 2, c.request())
		for _, stands := range []int64{luacall.MaxCount, 0} {
			c.do("SET %s %d", c.lock, stands)
			_, err := call.Run(t.Context(), c.rdb)
			fit, refused := luacall.Capacity(err)
			require.True(t, refused, "%v", err)
			require.Equal(t, luacall.MaxCount-stands, fit)
		}
		c.is("0")
	})
}

// defect C1: one key remembers all requests of a name, and forgets those that cannot come again.
func TestRequestsOfANameShareOneKey(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		var last []luacall.Settled
		for range 20 {
			for _, call := range []func(r luacall.Request) *luacall.Call[luacall.CountReply]{
				func(r luacall.Request) *luacall.Call[luacall.CountReply] {
					return luacall.PermitCapacity(c.sem.keys, 5, r)
				},
				func(r luacall.Request) *luacall.Call[luacall.CountReply] { return luacall.CountRelease(c.keys, 1, r) },
			} {
				r := c.request()
				r.Until, r.Settled = r.NotAfter+1000*lease, last
				require.Equal(t, luacall.Done, run(c.place, call(r)).Status)
				last = []luacall.Settled{{ID: r.ID, NotAfter: 1000}} // the last copy is long past its time
			}
		}
		require.Len(t, c.remembered(), 2, "the last one, and the one that it said is settled")
		keys, err := c.rdb.Keys(t.Context(), "*"+c.lock+"*").Result()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{c.lock, c.requests()}, keys)
	})
}

// A request that was answered is remembered until the not-after of its last copy, no matter what is
// said to be settled.
func TestSettledRequestsAreRememberedUntilTheirNotAfter(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		first, second := c.request(), c.request()
		first.Until = first.NotAfter + 1000*lease
		call := luacall.CountRelease(c.keys, 1, first)
		run(c.place, call)
		require.Equal(t, (first.Until+999)/1000, c.remembered()[first.ID])
		second.Settled = []luacall.Settled{{ID: first.ID, NotAfter: first.NotAfter}, {ID: "never:1", NotAfter: never}}
		run(c.place, luacall.CountRelease(c.keys, 1, second))
		require.Equal(t, first.NotAfter/1000+1, c.remembered()[first.ID])
		require.NotContains(t, c.remembered(), "never:1", "what is not there is not made")
		require.Equal(t, luacall.Already, run(c.place, call).Status)
		c.is("2")
	})
}

// The key outlives what is in it, by its expiry, and not by more than a day.
func TestTheKeyOfRequestsExpires(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		r := c.request()
		r.Until = r.NotAfter + 1000*lease
		run(c.place, luacall.CountRelease(c.keys, 1, r))
		c.lives(r.Key, 4*lease+500)
		long := c.request()
		long.Until = never
		run(c.place, luacall.CountRelease(c.keys, 1, long))
		c.lives(r.Key, 86_400_500)
	})
}

// A copy of a drain returns how many the drain took, even if several requests are remembered until the same
// time.
func TestADrainThatIsSentAgainTellsWhatItTook(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		c.do("SET %s 7", c.lock)
		r := c.request()
		for i := range 5 {
			c.rdb.ZAdd(t.Context(), r.Key, redis.Z{
				Score: float64((r.NotAfter + 999) / 1000), Member: "x:" + string(rune('a'+i)) + "=99",
			})
		}
		drain := luacall.CountDrain(c.keys, r)
		require.Equal(t, int64(7), run(c.place, drain).Value)
		c.do("SET %s 9", c.lock)
		got := run(c.place, drain)
		require.Equal(t, []any{luacall.Already, int64(7)}, []any{got.Status, got.Value})
		c.is("9")
	})
}

func TestACountIsDeletedOnce(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		c.do("SET %s 3", c.lock)
		remove := luacall.CountDelete(c.keys, c.request())
		got := run(c.place, remove)
		require.Equal(t, []any{luacall.Done, int64(3)}, []any{got.Status, got.Value})
		c.free()
		c.do("SET %s 5", c.lock)
		require.Equal(t, luacall.Already, run(c.place, remove).Status)
		require.Equal(t, luacall.TooLate, run(c.place, luacall.CountDelete(c.keys, c.late(c.request()))).Status)
		c.is("5")
	})
}

func TestPermitsAreDeletedOnceAndOnlyIfNobodyHoldsAny(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(3)
		run(s.place, s.take(alice, 2))
		refused := luacall.PermitDelete(s.keys, s.request())
		s.unchanged(func() {
			got := run(s.place, refused)
			require.Equal(t, []any{luacall.Busy, int64(2)}, []any{got.Status, got.Value})
			late := s.request()
			late.NotAfter = s.now() - 1
			require.Equal(t, luacall.TooLate, run(s.place, luacall.PermitDelete(s.keys, late)).Status)
		})
		s.expire(alice, 2)
		s.unchanged(func() { require.Equal(t, luacall.Busy, run(s.place, refused).Status, "its copy") })
		remove := luacall.PermitDelete(s.keys, s.request())
		require.Equal(t, luacall.Done, run(s.place, remove).Status)
		require.Zero(t, s.rdb.Exists(t.Context(), s.lock, s.token).Val())
		s.capacity(4)
		require.Equal(t, luacall.Already, run(s.place, remove).Status)
		s.sums(4, 0)
	})
}

// A capacity of zero is a pause: nobody is told to ask for less. A greater one that is too small tells so.
func TestACapacityOfZeroIsWaitedFor(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		require.Equal(t, int64(luacall.NoCapacity), run(s.place, s.take(alice, 2)).Fence, "none was set")
		s.capacity(0)
		reply := run(s.place, s.take(alice, 2))
		require.Equal(t, luacall.Busy, reply.Status)
		require.Zero(t, reply.Fence)
		s.capacity(1)
		_, err := s.take(alice, 2).Run(t.Context(), s.rdb)
		most, refused := luacall.Capacity(err)
		require.True(t, refused)
		require.Equal(t, int64(1), most)
	})
}
