package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Interleaving 22: at full memory what gives back works, and what takes is refused and changes nothing.
func TestFullMemoryAndPermits(t *testing.T) {
	places, fill := fullPlaces(t, 2)
	s, dead := newSem(places[0]), newSem(places[1])
	for _, s := range []*sem{s, dead} {
		s.capacity(5)
		run(s.place, s.take(alice, 2))
		run(s.place, s.take(bob, 1))
	}
	dead.capacity(3)
	dead.expire(alice, 2)
	heard := s.listen(false)
	fill()

	carol := alice + "c"
	s.unchanged(func() { outOfMemory(s.place, s.take(carol, 1)) })
	dead.unchanged(func() { outOfMemory(dead.place, dead.take(carol, 1)) })
	s.unchanged(func() {
		outOfMemory(s.place, luacall.PermitCapacity(s.keys, 9, s.request()))
		require.Equal(t, luacall.Already, run(s.place, s.take(alice, 2)).Status)
		require.Equal(t, luacall.Gone, run(s.place, s.back(carol, 2)).Status)
		require.Len(t, run(s.place, luacall.PermitInspect(s.keys)).Holders, 3)
	})
	before := s.rdb.ZScore(t.Context(), s.token, alice+"/1").Val()
	require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, s.extend(alice, 2, 2*lease))
	require.Greater(t, s.rdb.ZScore(t.Context(), s.token, alice+"/1").Val(), before)
	require.Equal(t, luacall.Done, run(s.place, s.back(alice, 2)).Status)
	require.Equal(t, luacall.Done, run(s.place, s.back(bob, 1)).Status)
	s.sums(5, 0)
	require.Equal(t, []string{"4", "5"}, heard())
}

func TestFullMemoryAndCounts(t *testing.T) {
	places, fill := fullPlaces(t, 4)
	c, fresh, latch, ending := newTally(places[0]), newTally(places[1]), newTally(places[2]), newTally(places[3])
	run(c.place, luacall.CountSet(c.keys, 5, c.request()))
	run(latch.place, luacall.LatchSet(latch.latch, 2, latch.request()))
	run(ending.place, luacall.LatchSet(ending.latch, 2, ending.request()))
	taken, never := c.request(), c.request()
	run(c.place, luacall.CountAcquire(c.keys, 2, false, taken))
	fill()

	c.unchanged(func() {
		outOfMemory(c.place, luacall.CountAcquire(c.keys, 1, false, c.request()))
		outOfMemory(c.place, luacall.CountDrain(c.keys, c.request()))
	})
	fresh.unchanged(func() {
		outOfMemory(fresh.place, luacall.CountSet(fresh.keys, 1, fresh.request()))
		outOfMemory(fresh.place, luacall.LatchSet(fresh.latch, 1, fresh.request()))
	})
	c.twice(luacall.CountRelease(c.keys, 1, c.request()))
	c.is("4")
	require.Equal(t, luacall.Done, run(c.place, luacall.CountCancel(c.keys, 2, taken, lease)).Status)
	require.Equal(t, luacall.Gone, run(c.place, luacall.CountCancel(c.keys, 2, never, lease)).Status)
	c.is("6")
	latch.twice(luacall.LatchDown(latch.latch, latch.request()))
	latch.is("1")
	latch.twice(luacall.LatchDown(latch.latch, latch.request()))
	latch.free()
	ending.twice(luacall.LatchDelete(ending.latch, ending.request()))
	ending.free()
}

// Where an access rule takes a command away, no permit is lost and none is made.
func TestPermitsWhereRedisRefusesACommand(t *testing.T) {
	for command, free := range map[string]int{"zadd": 3, "zremrangebyrank": 0, "incrby": 0} {
		t.Run(command, func(t *testing.T) {
			p := newPlace(t, nil)
			p.rdb = limited(t, "-"+command)
			s := newSem(p)
			s.do("SET %s %d", s.lock, free)
			if free == 0 {
				s.put(-1000, "a", "b", "c")
			}
			_, err := s.take(alice, 2).Run(t.Context(), s.rdb)
			refusedByRedis(t, err)
			s.sums(int64(free), int64(3-free))
		})
	}
}

func TestPermitsWhereRedisRefusesToPublish(t *testing.T) {
	p := newPlace(t, nil)
	p.rdb = limited(t, "-publish")
	s := newSem(p)
	s.do("SET %s 0", s.lock)
	s.put(-1000, "a", "b", "c")
	require.Equal(t, luacall.Held, run(p, s.take(alice, 1)).Status)
	s.sums(2, 1)
	require.Equal(t, int64(-1), run(p, s.back(alice, 1)).Receivers)
	s.sums(3, 0)
}
