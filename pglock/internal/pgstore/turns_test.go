package pgstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// A waiter that hears nothing was passed over when one of the others has had another turn: it does not come before
// a waiter that waits as long.
func TestAWaiterThatWasPassedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seen   []string
		passed bool
	}{
		"nobody has the lock":                  {[]string{"", ""}, false},
		"one holds for long":                   {[]string{"a:1", "a:1", "a:1"}, false},
		"one after the other":                  {[]string{"a:1", "b:1", "c:1"}, false},
		"one comes again":                      {[]string{"a:1", "b:1", "a:2"}, true},
		"one alone":                            {[]string{"a:1", "a:2"}, true},
		"a waiter that was passed over before": {[]string{"a:1", "a:2", "b:1"}, true},
		"free in between":                      {[]string{"a:1", "", "a:1"}, false},
		"it is nobody's":                       {[]string{"x", "y", "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var seen turns
			for _, id := range c.seen {
				seen.see(id, time.Minute)
			}
			require.Equal(t, c.passed, seen.passed)
		})
	}
}

// It asks the oftener, the shorter the hold is that it sees; where it was passed over, never rarely.
func TestHowOftenAWaiterThatHearsNothingAsks(t *testing.T) {
	t.Parallel()
	var seen turns
	now := time.Hour
	require.Equal(t, leastPoll, seen.see("a:1", now))
	require.Equal(t, 50*time.Millisecond, seen.see("a:1", now+100*time.Millisecond))
	require.Equal(t, 5*time.Second, seen.see("a:1", now+10*time.Second))
	now += time.Minute
	require.Equal(t, leastPoll, seen.see("b:1", now))
	require.Equal(t, leastPoll, seen.see("a:2", now))
	require.Equal(t, noteMost, seen.see("a:2", now+10*time.Second))
}

// Only a client that is known to hear nothing asks for reservations, for names that somebody waits for, and not once it
// has had its turn.
func TestWhoAsksForAReservation(t *testing.T) {
	t.Parallel()
	h := hearing(t)
	h.broke()
	require.Zero(t, h.polls("n", "a:1", 0), "for a moment")
	h.deafened()
	require.Equal(t, leastPoll, h.polls("unknown", "a:1", 0))
	names := []string{"n", "unknown"}
	passedOver := func() (some []string) {
		h.polls("n", "a:1", 0)
		h.polls("n", "a:2", 0)
		some, _ = h.passedOver(names, 0)
		return some
	}
	require.Equal(t, []string{"n"}, passedOver())
	_, most := h.passedOver(names, 0)
	require.Equal(t, 2*leastPoll+noteSpare, most)
	h.served("n")
	h.served("unknown")
	some, _ := h.passedOver(names, 0)
	require.Empty(t, some)
	require.Equal(t, []string{"n"}, passedOver())
	h.stands()
	require.Empty(t, passedOver())
	require.Zero(t, h.polls("n", "a:3", 0))
}

// A release leaves the lock to clients that hear of none, if one of them has said that it will ask: until it may have
// asked, and once. Nobody else waits for it for longer, should it not come. (defect G21)
func TestALockIsReserved(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	s := r.session(t)
	s.insert("n")
	freed := parted{released: true, looked: true}
	reserve := func(ms int) {
		t.Helper()
		s.exec(s.sql.reserve, []string{"n"}, "W", ms)
	}
	reserved := func() { // not for long, whatever the note says; and then for as long as the test looks
		t.Helper()
		require.Equal(t, "t", r.run(t, "SELECT until BETWEEN clock_timestamp() - interval '1 minute' AND "+
			"clock_timestamp() + interval '1 second' FROM holdfast_lock"))
		s.exec("UPDATE holdfast_lock SET until = clock_timestamp() + interval '1 hour'")
	}
	for _, sql := range []string{r.sql.telling.one, r.sql.telling.all, r.sql.telling.many, r.sql.mute.all} {
		release := func(id string) {
			t.Helper()
			require.Equal(t, []parted{freed}, s.release(sql, []string{"n"}, id))
		}
		reserve(far32)
		require.Equal(t, "f", r.run(t, "SELECT polled > clock_timestamp() FROM holdfast_lock"), "the lock is free")
		require.True(t, s.acquire("n", "X", far).held)
		reserve(far32)
		require.False(t, s.acquireDeaf("n", "Y").held, "it is held")
		release("X")
		reserved()
		require.False(t, s.acquire("n", "Z", far).held)
		require.False(t, s.acquireAll([]string{"n"}, "Z", far))
		require.True(t, s.acquireDeaf("n", "Y").held)
		release("Y")
		require.True(t, s.acquire("n", "Z", far).held, "once")
		reserve(far32)
		release("Z")
		reserved()
		require.True(t, s.takeAll([]string{"n"}, "Y", far, true), "one of a set")
		reserve(far32)
		release("Y")
		reserved()
		s.exec("UPDATE holdfast_lock SET until = clock_timestamp()")
		require.True(t, s.acquire("n", "Z", far).held, "nobody came")
		reserve(1)
		r.past(t, r.clock(t)+(10*time.Millisecond).Microseconds())
		release("Z")
		require.True(t, s.acquire("n", "Z", far).held, "the waiter has not asked again")
		release("Z")
	}
}

// far32 is a time in ms after all tests.
const far32 = 1 << 30

// A lock that is reserved is nobody's: those who look see a free one, and a client that asks is told when to ask again.
func TestAReservedLockIsNobodys(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, s := r.open(t, "c"), r.session(t)
	p.take("n", "c:1")
	s.exec(s.sql.reserve, []string{"n"}, "Y", far32)
	p.release("n", "c:1")
	s.exec("UPDATE holdfast_lock SET until = clock_timestamp() + interval '1 hour'") // for as long as the test looks
	found, err := p.Lock("n").Inspect(within(t))
	require.NoError(t, err)
	require.Empty(t, found.Holders)
	all, err := p.List(within(t), "%", "", 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Empty(t, all[0].ID)
	require.Zero(t, all[0].TTL)
	reply, _ := p.acquire("n", "c:2")
	require.Equal(t, store.Busy, reply.Status)
	require.LessOrEqual(t, reply.PTTL, time.Hour)
	require.False(t, s.relied("n", ""))
	require.Equal(t, store.Gone, p.release("n", "").Status)
	p.hub.deafened()
	p.take("n", "c:3")
}
