package luacall_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// tally is a counting semaphore of one test, and a latch at the same key.
type tally struct {
	*sem
	keys  luacall.Counter
	latch luacall.Latch
}

func tallies(t *testing.T, test func(t *testing.T, c *tally)) {
	t.Helper()
	everywhere(t, func(t *testing.T, p *place) { test(t, newTally(p)) })
}

func newTally(p *place) *tally {
	s := newSem(p)
	return &tally{
		s, luacall.Counter{Free: p.lock, Channel: p.channel}, luacall.Latch{Count: p.lock, Channel: p.channel},
	}
}

// is asserts the number that stands there, "" for none.
func (c *tally) is(want string) {
	c.t.Helper()
	require.Equal(c.t, want, c.rdb.Get(c.t.Context(), c.lock).Val())
}

// twice sends a call once and then again: the second time it is recognised, and changes nothing. It
// returns the first answer.
func (c *tally) twice(call *luacall.Call[luacall.CountReply]) luacall.CountReply {
	c.t.Helper()
	first := run(c.place, call)
	require.Equal(c.t, luacall.Done, first.Status)
	require.Positive(c.t, first.Now)
	c.unchanged(func() {
		again := run(c.place, call)
		require.Equal(c.t, luacall.Already, again.Status)
	})
	return first
}

func (c *tally) late(r luacall.Request) luacall.Request {
	r.ID += "late"
	r.NotAfter = c.now() - 1
	return r
}

func TestCountingIsExactHoweverOftenItIsSent(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		require.Equal(t, int64(3), c.twice(luacall.CountSet(c.keys, 3, c.request())).Value)
		c.is("3")
		taken := c.request()
		require.Equal(t, luacall.Held, run(c.place, luacall.CountAcquire(c.keys, 2, false, taken)).Status)
		c.is("1")
		c.unchanged(func() {
			require.Equal(t, luacall.Already, run(c.place, luacall.CountAcquire(c.keys, 2, false, taken)).Status)
			require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 2, false, c.request())).Status)
			for _, reply := range []luacall.CountReply{
				run(c.place, luacall.CountSet(c.keys, 3, c.late(taken))),
				run(c.place, luacall.CountRelease(c.keys, 3, c.late(taken))),
				run(c.place, luacall.CountDrain(c.keys, c.late(taken))),
			} {
				require.Equal(t, luacall.TooLate, reply.Status)
				require.Positive(t, reply.Now)
			}
			require.Equal(t, luacall.TooLate, run(c.place, luacall.CountAcquire(c.keys, 1, false, c.late(taken))).Status)
		})
		require.Equal(t, int64(6), c.twice(luacall.CountRelease(c.keys, 5, c.request())).Value)
		drain := luacall.CountDrain(c.keys, c.request())
		require.Equal(t, int64(6), c.twice(drain).Value)
		require.Equal(t, int64(6), run(c.place, drain).Value, "the answer of the first")
		c.is("0")
		require.Equal(t, int64(0), run(c.place, luacall.CountDrain(c.keys, c.request())).Value)
		require.Equal(t, []string{"3", "6"}, heard())
	})
}

// bug 36: none left is not the same as not there.
func TestASemaphoreWithNothingLeftIsThere(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		c.twice(luacall.CountSet(c.keys, 0, c.request()))
		c.is("0")
		c.unchanged(func() {
			got := run(c.place, luacall.CountSet(c.keys, 5, c.request()))
			require.Equal(t, luacall.CountReply{ChangeReply: store.ChangeReply{Status: luacall.Busy, Value: 0}, Now: got.Now}, got)
		})
		require.Empty(t, heard(), "zero wakes nobody")
	})
}

func TestANegativeNumberOfPermits(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		c.do("SET %s -3", c.lock)
		require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 1, false, c.request())).Status)
		require.Zero(t, run(c.place, luacall.CountDrain(c.keys, c.request())).Value)
		c.is("-3")
		require.Equal(t, int64(-3), run(c.place, luacall.CountLook(c.lock)).Value)
		require.Equal(t, int64(-1), c.twice(luacall.CountRelease(c.keys, 2, c.request())).Value)
		require.Empty(t, heard(), "Redisson's listener fails on a negative number")
	})
}

func TestMorePermitsThanRedissonCounts(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		c.twice(luacall.CountSet(c.keys, math.MaxInt32-2, c.request()))
		c.unchanged(func() {
			_, err := luacall.CountRelease(c.keys, 3, c.request()).Run(t.Context(), c.rdb)
			most, refused := luacall.Capacity(err)
			require.True(t, refused, "%v", err)
			require.Equal(t, int64(2), most)
		})
		c.twice(luacall.CountRelease(c.keys, 2, c.request()))
		c.is(fmt.Sprint(math.MaxInt32))
	})
}

// The scripts report a number that another program raised in a form that Redisson can read.
func TestPublishedNumbersFitInto32Bits(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		taken := c.request()
		c.do("SET %s 9000000000", c.lock)
		run(c.place, luacall.CountAcquire(c.keys, 5, false, taken))
		require.Equal(t, luacall.Done, run(c.place, luacall.CountCancel(c.keys, 5, taken, lease)).Status)
		c.is("9000000000")
		require.Equal(t, []string{"2147483647"}, heard())
	})
}

func TestACancelledRequestTakesNothing(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		run(c.place, luacall.CountSet(c.keys, 3, c.request()))
		taken, never := c.request(), c.request()
		run(c.place, luacall.CountAcquire(c.keys, 2, false, taken))
		c.is("1")
		require.Equal(t, luacall.Done, run(c.place, luacall.CountCancel(c.keys, 2, taken, lease)).Status)
		c.is("3")
		require.Equal(t, luacall.Gone, run(c.place, luacall.CountCancel(c.keys, 2, never, lease)).Status)
		c.unchanged(func() {
			got := run(c.place, luacall.CountCancel(c.keys, 2, taken, lease))
			require.Equal(t, luacall.Gone, got.Status, "once")
			require.Positive(t, got.Now)
			require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 2, false, taken)).Status)
			require.Equal(t, luacall.Busy, run(c.place, luacall.CountAcquire(c.keys, 2, false, never)).Status)
		})
		require.Equal(t, []string{"3", "3"}, heard())
		c.lives(taken.Key, 2*lease+500)
	})
}

func TestAnExpiryOfTheNumberStays(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		c.do("SET %s 3 PX 20000", c.lock)
		run(c.place, luacall.CountAcquire(c.keys, 1, false, c.request()))
		run(c.place, luacall.CountRelease(c.keys, 4, c.request()))
		run(c.place, luacall.CountDrain(c.keys, c.request()))
		c.is("0")
		c.lives(c.lock, 20000)
	})
}

func TestALatchCountsDown(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		open := func() luacall.Status { return run(c.place, luacall.LatchWait(c.lock)).Status }
		require.Equal(t, luacall.Held, open())
		c.twice(luacall.LatchSet(c.latch, 3, c.request()))
		require.Equal(t, luacall.Busy, open())
		c.unchanged(func() {
			got := run(c.place, luacall.LatchSet(c.latch, 9, c.request()))
			require.Equal(t, []any{luacall.Busy, int64(3)}, []any{got.Status, got.Value})
			require.Equal(t, luacall.TooLate, run(c.place, luacall.LatchSet(c.latch, 9, c.late(c.request()))).Status)
			require.Equal(t, luacall.TooLate, run(c.place, luacall.LatchDown(c.latch, c.late(c.request()))).Status)
			require.Equal(t, luacall.TooLate, run(c.place, luacall.LatchDelete(c.latch, c.late(c.request()))).Status)
		})
		for _, left := range []int64{2, 1, 0} {
			require.Equal(t, left, c.twice(luacall.LatchDown(c.latch, c.request())).Value)
		}
		c.free()
		require.Equal(t, luacall.Held, open())
		require.Equal(t, luacall.Done, run(c.place, luacall.LatchDown(c.latch, c.request())).Status, "of nothing")
		require.Equal(t, luacall.Done, run(c.place, luacall.LatchDelete(c.latch, c.request())).Status, "of nothing")
		c.free()
		require.Equal(t, []string{"1", "0"}, heard())
	})
}

// A deletion that is sent again must not end the count that began since.
func TestALatchIsDeletedOnce(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		heard := c.listen(false)
		run(c.place, luacall.LatchSet(c.latch, 3, c.request()))
		remove := luacall.LatchDelete(c.latch, c.request())
		require.Equal(t, luacall.Done, run(c.place, remove).Status)
		c.free()
		run(c.place, luacall.LatchSet(c.latch, 2, c.request()))
		require.Equal(t, luacall.Already, run(c.place, remove).Status)
		c.is("2")
		require.Equal(t, []string{"1", "0", "1"}, heard(), "Redisson's deletion says 1, and its waiters stay")
	})
}

// Redisson can leave a zero behind: that is an open latch.
func TestALatchAtZeroIsOpen(t *testing.T) {
	tallies(t, func(t *testing.T, c *tally) {
		c.do("SET %s 0", c.lock)
		require.Equal(t, luacall.Held, run(c.place, luacall.LatchWait(c.lock)).Status)
		run(c.place, luacall.LatchSet(c.latch, 2, c.request()))
		c.is("2")
		c.do("SET %s 0", c.lock)
		run(c.place, luacall.LatchDown(c.latch, c.request()))
		c.free()
	})
}
