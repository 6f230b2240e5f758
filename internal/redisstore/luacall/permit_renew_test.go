package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func TestPermitsAreRenewed(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(5)
		run(s.place, s.take(alice, 3))
		score := func(i string) float64 { return s.rdb.ZScore(t.Context(), s.token, alice+"/"+i).Val() }
		before := score("0")
		s.unchanged(func() {
			require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, s.extend(bob, 1, lease))
		})
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, s.extend(alice, 3, 2*lease))
		require.InDelta(t, before+float64(lease), score("0"), 5000)
		require.Equal(t, score("0"), score("1"))
		require.Equal(t, score("0"), score("2"))
		s.sums(2, 3)
		s.do("ZREM %s %s/2", s.token, alice)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, s.extend(alice, 3, 3*lease))
		s.sums(2, 2) // what somebody took away by hand does not come back
		s.do("DEL %s", s.token)
		s.unchanged(func() {
			require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, s.extend(alice, 3, lease))
		})
	})
}

// defect A8: after a step back of the server's clock a renewal gives the lease by the clock as it is now: the
// permits of who crashes then come back within a lease, and not within the step and a lease.
func TestARenewalAfterAStepBackOfTheClockGivesALease(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(5)
		run(s.place, s.take(alice, 2))
		const step = 3600_000
		stands := s.now()/1000 + step + lease // as before a step of an hour
		s.do("ZADD %s XX %d %s/0 %d %s/1", s.token, stands, alice, stands, alice)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, s.extend(alice, 2, lease))
		for _, permit := range []string{"/0", "/1"} {
			left := int64(s.rdb.ZScore(t.Context(), s.token, alice+permit).Val()) - s.now()/1000
			require.LessOrEqual(t, left, lease+1)
			require.Greater(t, left, lease-5000)
		}
	})
}

func TestRenewalOfPermitsAnswersForEachKey(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(5)
		run(s.place, s.take(alice, 1))
		s.do("SET %s:other x", s.lock)
		got := run(s.place, luacall.PermitRenew(
			[]string{s.lock + ":other", s.token, s.token, s.lock + ":none"},
			[]string{alice, alice, bob, alice}, 1, []int64{lease, lease, lease, lease}))
		require.Equal(t, []luacall.RenewStatus{
			luacall.RenewConflict, luacall.Renewed, luacall.RenewGone, luacall.RenewGone,
		}, got)
	})
}

// bug 39: all of a hold's permits come back together.
func TestPermitsOfAHoldThatIsOnlyKnownByName(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(2000)
		run(s.place, s.take(alice, 1234))
		run(s.place, s.take(alice+"1", 7)) // whose name begins alike
		require.Equal(t, luacall.Done, run(s.place, s.back(alice, 0)).Status)
		s.sums(1993, 7)
		raw := "\x00\xff:/1\r\n0123456789"
		s.put(lease, raw)
		require.Equal(t, luacall.Done, run(s.place, luacall.PermitReleaseOne(s.keys, raw)).Status)
		s.sums(1994, 7)
		require.Equal(t, luacall.Gone, run(s.place, luacall.PermitReleaseOne(s.keys, raw)).Status)
	})
}

func TestInspectionOfPermits(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.capacity(9)
		run(s.place, s.take(alice, 2))
		run(s.place, s.take(bob, 1))
		s.expire(bob, 1)
		s.put(922337203685477, "0123456789abcdef")
		s.listen(false)
		var got luacall.InspectReply
		s.unchanged(func() { got = run(s.place, luacall.PermitInspect(s.keys)) })
		require.Len(t, got.Holders, 3)
		require.Equal(t, alice+"/0", got.Holders[0].ID)
		require.InDelta(t, lease, got.Holders[0].TTL.Milliseconds(), 5000)
		require.Equal(t, "0123456789abcdef", got.Holders[2].ID)
		require.Greater(t, got.Holders[2].TTL, 1000*time.Hour)
		require.Equal(t, got.Holders[2].TTL, got.PTTL)
		if !s.mini {
			require.Equal(t, int64(1), got.Subscribers)
		}
		s.do("DEL %s", s.token)
		require.Negative(t, run(s.place, luacall.PermitInspect(s.keys)).PTTL)
	})
}

// Redisson can give the number an expiry; then the set has the same, or it would outlive it.
func TestPermitsOfASemaphoreThatExpires(t *testing.T) {
	semaphores(t, func(t *testing.T, s *sem) {
		s.do("SET %s 3 PX 20000", s.lock)
		run(s.place, s.take(alice, 1))
		s.lives(s.lock, 20000)
		s.lives(s.token, 20000)
		run(s.place, s.back(alice, 1))
		s.lives(s.lock, 20000)
		s.capacity(5)
		s.lives(s.lock, 20000)
	})
}
