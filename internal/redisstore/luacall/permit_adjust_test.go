package luacall_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// The capacity is changed by some. What is free and what is taken add up to it, as Redisson counts them.
func TestACapacityIsAdjusted(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		heard := s.listen(false)
		s.unchanged(func() {
			require.Equal(t, luacall.Gone, run(s.place, luacall.PermitLook(s.keys, true)).Status)
			require.Equal(t, luacall.Gone, run(s.place, luacall.PermitLook(s.keys, false)).Status)
		})
		gone := s.request()
		for range 2 {
			require.Equal(t, luacall.Gone, run(s.place, luacall.PermitAdd(s.keys, 1, gone)).Status)
		}
		begin := s.request()
		for _, want := range []luacall.Status{luacall.Done, luacall.Already} {
			reply := run(s.place, luacall.PermitCapacityIfAbsent(s.keys, 3, begin))
			require.Equal(t, []any{want, int64(3)}, []any{reply.Status, reply.Value})
		}
		require.Equal(t, luacall.Busy, run(s.place, luacall.PermitAdd(s.keys, 1, gone)).Status, "a copy of a refused one")
		again := s.request()
		for range 2 {
			reply := run(s.place, luacall.PermitCapacityIfAbsent(s.keys, 9, again))
			require.Equal(t, []any{luacall.Busy, int64(3)}, []any{reply.Status, reply.Value})
		}
		run(s.place, s.take(alice, 2))
		for _, step := range []struct{ by, free, all int64 }{{2, 3, 5}, {-3, 0, 2}, {-1, -1, 1}, {1, 0, 2}} {
			r := s.request()
			for _, want := range []luacall.Status{luacall.Done, luacall.Already} {
				reply := run(s.place, luacall.PermitAdd(s.keys, step.by, r))
				require.Equal(t, []any{want, step.all}, []any{reply.Status, reply.Value})
				s.sums(step.free, 2)
			}
			require.Equal(t, step.all, run(s.place, luacall.PermitLook(s.keys, true)).Value)
			require.Equal(t, step.free, run(s.place, luacall.PermitLook(s.keys, false)).Value)
		}
		for _, by := range []int64{-3, math.MaxInt32 - 1} {
			r := s.request()
			for range 2 {
				_, err := luacall.PermitAdd(s.keys, by, r).Run(t.Context(), s.rdb)
				capacity, refused := luacall.Capacity(err)
				require.True(t, refused, "%v", err)
				require.Equal(t, int64(2), capacity)
			}
		}
		s.sums(0, 2)
		late := s.request()
		late.NotAfter = s.now() - 1
		require.Equal(t, luacall.TooLate, run(s.place, luacall.PermitAdd(s.keys, 1, late)).Status)
		require.Equal(t, []string{"3", "3", "0", "0"}, heard(), "what is free, or that there are fewer")
	})
}

// Permits whose leases have ended are free.
func TestAnAdjustedCapacityCountsExpiredPermits(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(3)
		run(s.place, s.take(alice, 2))
		s.expire(alice, 2)
		heard := s.listen(false)
		require.Equal(t, int64(3), run(s.place, luacall.PermitLook(s.keys, false)).Value)
		require.Equal(t, int64(1), run(s.place, luacall.PermitAdd(s.keys, -2, s.request())).Value)
		s.sums(-1, 2)
		require.Equal(t, int64(1), run(s.place, luacall.PermitLook(s.keys, false)).Value)
		require.Equal(t, []string{"1"}, heard())
	})
}

// A capacity that shrinks, and one that is deleted, are told to waiters although no permit is free.
func TestFewerPermitsAreTold(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		heard := s.listen(false)
		s.capacity(2)
		run(s.place, s.take(alice, 2))
		s.capacity(1)
		s.capacity(1) // no change
		run(s.place, s.back(alice, 2))
		s.capacity(0)
		run(s.place, luacall.PermitDelete(s.keys, s.request()))
		run(s.place, luacall.PermitDelete(s.keys, s.request())) // there is none
		require.Equal(t, []string{"2", "0", "1", "0", "0"}, heard())
	})
}

func TestACountIsTakenAway(t *testing.T) {
	c := newTally(newPlace(t, startServer(t).Client(t)))
	run(c.place, luacall.CountSet(c.keys, 3, c.request()))
	heard := c.listen(false)
	c.twice(luacall.CountRelease(c.keys, -2, c.request()))
	c.is("1")
	c.twice(luacall.CountRelease(c.keys, -2, c.request()))
	c.is("-1")
	r := c.request()
	for range 2 {
		_, err := luacall.CountRelease(c.keys, -luacall.MaxCount, r).Run(t.Context(), c.rdb)
		fit, refused := luacall.Capacity(err)
		require.True(t, refused, "%v", err)
		require.Equal(t, int64(1-luacall.MaxCount), fit)
	}
	c.is("-1")
	require.Equal(t, []string{"1"}, heard())
}
