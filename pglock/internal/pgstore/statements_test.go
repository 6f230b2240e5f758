package pgstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

// soon is a time of the server's clock that comes while a test waits.
func (r rows) soon(t testing.TB) int64 {
	return r.clock(t) + (500 * time.Millisecond).Microseconds()
}

// What takes something does nothing after its time, also if it began to wait before.
func TestNothingIsTakenTooLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string // another transaction's lock
		take func(s session, notAfter int64) bool
	}{
		"one": {
			in:   "LOCK TABLE holdfast_lock",
			take: func(s session, notAfter int64) bool { return s.acquire("free", "X", notAfter).held },
		},
		"several": {
			in:   "LOCK TABLE holdfast_lock",
			take: func(s session, notAfter int64) bool { return s.acquireAll([]string{"free", "other"}, "X", notAfter) },
		},
		"what another holds, while the table is locked": {
			in:   "LOCK TABLE holdfast_lock",
			take: func(s session, notAfter int64) bool { return s.adopt("held", "X", "H", notAfter).held },
		},
		"what another holds, while its row is locked": {
			in:   "SELECT 1 FROM holdfast_lock WHERE name = 'held' FOR KEY SHARE",
			take: func(s session, notAfter int64) bool { return s.adopt("held", "X", "H", notAfter).held },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(t)
			mine, other := r.patient(t), r.session(t)
			mine.insert("free", "held", "other")
			require.True(t, mine.acquire("held", "H", far).held)
			before := r.run(t, "SELECT * FROM holdfast_lock ORDER BY name")
			require.False(t, c.take(mine, 0), "nothing is known of the clock")
			require.False(t, c.take(mine, r.clock(t)))

			soon := r.soon(t)
			other.begin()
			other.exec(c.in)
			result := waits(t, r, func() bool { return c.take(mine, soon) })
			r.past(t, soon)
			other.rollback()
			require.False(t, await(t, result))
			require.Equal(t, before, r.run(t, "SELECT * FROM holdfast_lock ORDER BY name"))
			require.True(t, c.take(mine, far), "in time")
		})
	}
}

// A row that another transaction has locked is busy, whatever for: a free one, too, and nobody waits for it.
func TestALockedRowIsBusy(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRows(t)
			mine, other := r.session(t), r.session(t)
			mine.insert("a", "b")
			other.begin()
			other.exec("SELECT 1 FROM holdfast_lock WHERE name = 'b' FOR " + how)
			require.False(t, mine.acquire("b", "X", far).held)
			require.False(t, mine.acquireAll([]string{"a", "b"}, "X", far), "one of several")
			other.commit()
			require.True(t, mine.acquireAll([]string{"a", "b"}, "X", far))
		})
	}
}

// A holder has the lock until its lease is over, by the server's clock at that moment and not when the
// transaction began (bug 59).
func TestALeaseKeepsOthersOut(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	mine, other := r.session(t), r.session(t)
	mine.insert("a", "b")
	require.True(t, mine.acquire("b", "X", far).held)
	require.False(t, other.acquire("b", "Y", far).held)
	require.False(t, other.acquire("b", "X", far).held, "a copy")
	require.False(t, other.acquireAll([]string{"a", "b"}, "Y", far))
	require.Equal(t, "a|f\nb|t", r.run(t, "SELECT name, id IS NOT NULL FROM holdfast_lock ORDER BY name"))

	other.begin()
	other.exec("SELECT now()")
	mine.exec("UPDATE holdfast_lock SET until = clock_timestamp() WHERE name = 'b'")
	require.True(t, other.acquireAll([]string{"a", "b"}, "Y", far), "it has ended since that transaction began")
	other.commit()
}

// The release of an id whose acquisition is under way comes after it.
func TestAReleaseWaitsForAnAcquisition(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	taking, releasing := r.session(t), r.patient(t)
	taking.insert("n")
	for _, c := range []struct {
		release, id string
		end         func()
	}{
		{r.sql.telling.one, "X", taking.commit}, {r.sql.telling.one, "Y", taking.rollback},
		{r.sql.telling.all, "X", taking.commit}, {r.sql.telling.all, "Y", taking.rollback},
	} {
		id := c.id
		taking.begin()
		require.True(t, taking.acquire("n", id, far).held)
		require.Equal(t, []parted{{}}, releasing.release(r.sql.telling.many, []string{"n"}, id),
			"one that does not wait says that it could not look")
		result := waits(t, r, func() []parted { return releasing.release(c.release, []string{"n"}, id) })
		c.end()
		require.Equal(t, []parted{{released: id == "X", looked: true}}, await(t, result))
		require.Equal(t, "t", r.run(t, "SELECT until < clock_timestamp() FROM holdfast_lock"))
	}
}

// A row that is being made is none yet. Nothing was taken by that, so its release has nothing to wait for.
func TestAReleaseBesideAnInsert(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	inserting, releasing := r.session(t), r.session(t)
	inserting.begin()
	inserting.insert("n")
	for _, sql := range []string{r.sql.telling.one, r.sql.telling.all, r.sql.telling.many} {
		require.Equal(t, []parted{{looked: true}}, releasing.release(sql, []string{"n"}, "X"))
	}
	released := r.clock(t)
	inserting.commit()
	require.False(t, inserting.acquire("n", "X", released).held, "a copy that the release came after")
	require.True(t, inserting.acquire("n", "X", far).held)
}

// A release frees the lock of its id, and no other one.
func TestAReleaseNamesItsHold(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	s := r.session(t)
	s.insert("a", "b")
	gone, done := parted{looked: true}, parted{released: true, looked: true}
	names := []string{"b", "a", "missing"}
	for _, sql := range []string{r.sql.telling.one, r.sql.telling.all, r.sql.telling.many} {
		require.True(t, s.acquire("a", "X", far).held)
		require.True(t, s.acquire("b", "Y", far).held)
		require.Equal(t, []parted{gone, gone, gone}, s.release(sql, names, "X", "Y", "Z"))
		require.Equal(t, []parted{done, done, gone}, s.release(sql, names, "Y", "X", "Z"), "in their order")
		require.Equal(t, []parted{gone, gone, gone}, s.release(sql, names, "Y", "X", "Z"), "once")
	}
	require.Equal(t, "2", r.run(t, "SELECT count(*) FROM holdfast_lock WHERE id IS NULL"), "the rows stay")
}

// One row that is locked does not keep the others of a batch from being renewed, or released (bug 60).
func TestOneLockedRowHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	mine, other := r.session(t), r.session(t)
	names := []string{"3", "1", "2"}
	mine.insert("1", "2", "3")
	require.True(t, mine.acquireAll([]string{"1", "2", "3"}, "X", far))
	before := r.run(t, "SELECT until FROM holdfast_lock WHERE name = '1'")
	other.begin()
	other.exec("SELECT 1 FROM holdfast_lock WHERE name = '1' FOR UPDATE")
	done, locked := renewed{true, true}, renewed{false, true}
	require.Equal(t, []renewed{done, locked, done}, mine.renew(names, "X", "X", "X"))
	require.Equal(t, before, r.run(t, "SELECT until FROM holdfast_lock WHERE name = '1'"))
	out := parted{released: true, looked: true}
	require.Equal(t, []parted{out, {}, out}, mine.release(r.sql.telling.many, names, "X", "X", "X"))
	other.rollback()
	require.Equal(t, []renewed{{}, done, {}}, mine.renew(names, "X", "X", "X"), "the next time")
	require.Equal(t, []parted{{looked: true}, out, {looked: true}}, mine.release(r.sql.telling.many, names, "X", "X", "X"))
}

// A renewal prolongs what stands, and makes nothing of what does not.
func TestARenewalRevivesNothing(t *testing.T) {
	t.Parallel()
	for name, since := range map[string]string{
		"the lease is over": "UPDATE holdfast_lock SET until = clock_timestamp()",
		"it was released":   "UPDATE holdfast_lock SET until = 'epoch', id = NULL",
		"another's":         "UPDATE holdfast_lock SET id = 'Y'",
		"deleted":           "DELETE FROM holdfast_lock",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(t)
			s := r.session(t)
			s.insert("n")
			require.True(t, s.acquire("n", "X", far).held)
			s.exec(since)
			before := r.run(t, "SELECT * FROM holdfast_lock")
			require.Equal(t, []renewed{{}}, s.renew([]string{"n"}, "X"))
			require.Equal(t, before, r.run(t, "SELECT * FROM holdfast_lock"))
		})
	}
}

// If the clock of the server is set back, the end of a lease is far away. The next renewal puts that right: if the holder
// dies then, others wait for its lease, and not for the step too.
func TestARenewalAfterAStepBackOfTheClock(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	s := r.session(t)
	s.insert("n")
	require.True(t, s.acquire("n", "X", far).held)
	s.exec("UPDATE holdfast_lock SET until = '2999-01-01Z'")
	require.Equal(t, []renewed{{true, true}}, s.renew([]string{"n"}, "X"))
	require.Equal(t, "t", r.run(t, "SELECT until <= clock_timestamp() + interval '2 hours' FROM holdfast_lock"))
}

// A lock is retained for no longer than its MinHold, though the clock was set back since its end was named (defect G56).
func TestALockIsRetainedForNoLongerThanSaid(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	s := r.session(t)
	s.insert("n")
	hour, most := time.Now().Add(time.Hour).UnixMicro(), (2 * time.Second).Microseconds()
	for of, args := range map[string][]any{
		s.sql.telling.all:  {[]string{"n"}, []string{"X"}, []int64{hour}, []string{"Z"}, "holdfast_lock", []int64{most}},
		s.sql.telling.many: {[]string{"n"}, []string{"X"}, []int64{hour}, []string{"Z"}, "holdfast_lock", []int64{most}},
	} {
		s.exec("UPDATE holdfast_lock SET until = 'epoch', id = NULL")
		require.True(t, s.acquire("n", "X", far).held)
		s.exec(of, args...)
		require.Equal(t, "t", r.run(t, "SELECT id = 'Z' AND until > 'epoch' AND "+
			"until <= clock_timestamp() + interval '2 seconds' FROM holdfast_lock"), of)
	}
}

// A take-over that is under way is not disturbed by the renewal of the hold before it.
func TestARenewalBesideATakeOver(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	mine, other := r.session(t), r.session(t)
	mine.insert("n")
	require.True(t, mine.acquire("n", "X", far).held)
	mine.exec("UPDATE holdfast_lock SET until = clock_timestamp()")
	other.begin()
	require.True(t, other.acquire("n", "Y", far).held)
	require.Equal(t, []renewed{{}}, mine.renew([]string{"n"}, "X"))
	other.commit()
	require.Equal(t, []renewed{{}}, mine.renew([]string{"n"}, "X"))
	require.Equal(t, []renewed{{true, true}}, other.renew([]string{"n"}, "Y"))
}

// While a transaction of the user relies on a hold, that is renewed and released, and nobody takes the lock.
func TestWhatATransactionReliesOn(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	users, mine, other, adopting := r.session(t), r.session(t), r.session(t), r.patient(t)
	mine.insert("n", "m")
	require.True(t, mine.acquire("n", "X", far).held)
	users.begin()
	require.False(t, users.relied("n", "Y"))
	require.False(t, users.relied("m", "X"))
	require.True(t, users.relied("n", "X"))
	require.Equal(t, []renewed{{true, true}}, mine.renew([]string{"n"}, "X"))
	mine.exec("UPDATE holdfast_lock SET until = clock_timestamp()")
	require.False(t, other.acquire("n", "Y", far).held, "its lease is over")
	require.False(t, other.acquireAll([]string{"m", "n"}, "Y", far))
	require.True(t, users.relied("n", "X"), "nobody has had the lock")
	require.Equal(t, []parted{{released: true, looked: true}}, mine.release(r.sql.telling.one, []string{"n"}, "X"))
	require.False(t, other.acquire("n", "Y", far).held, "it was released")
	require.False(t, users.relied("n", "X"))
	users.commit()
	require.True(t, other.acquire("n", "Y", far).held)

	users.begin()
	require.True(t, users.relied("n", "Y"))
	result := waits(t, r, func() granted { return adopting.adopt("n", "Z", "Y", far) })
	users.commit()
	require.True(t, await(t, result).held, "to give it to another id is to take it, too")
	require.False(t, users.relied("n", "Y"))
}

// A transaction that comes while the lock is being taken waits, and is told what came of that.
func TestATransactionBesideATakeOver(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	mine, other, users := r.session(t), r.session(t), r.patient(t)
	mine.insert("n")
	for _, stays := range []bool{true, false} {
		require.True(t, mine.acquire("n", fmt.Sprint(stays), far).held)
		mine.exec("UPDATE holdfast_lock SET until = clock_timestamp()")
		other.begin()
		require.True(t, other.acquire("n", "Y", far).held)
		result := waits(t, r, func() bool { return users.relied("n", fmt.Sprint(stays)) })
		if stays {
			other.rollback()
		} else {
			other.commit()
		}
		require.Equal(t, stays, await(t, result))
	}
}

// Each acquisition has a token above all that were there before, and the spare ones are nobody else's.
func TestTokensGrow(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	s := r.session(t)
	var newest int64
	take := func(name string) granted {
		t.Helper()
		got := s.acquire(name, "X", far)
		require.True(t, got.held)
		require.Less(t, newest, got.fence-got.spare)
		require.LessOrEqual(t, got.spare, int64(1023))
		require.GreaterOrEqual(t, got.spare, int64(0))
		newest = got.fence
		s.exec("UPDATE holdfast_lock SET until = 'epoch'")
		return got
	}
	s.insert("n", "m")
	require.Zero(t, take("n").spare, "of a new row nobody knows what was given before")
	s.exec("SELECT pg_sleep(0.002)")
	require.EqualValues(t, 1023, take("n").spare, "a clock in µs leaves room")
	for range 20 {
		take("n")
	}
	s.exec("DELETE FROM holdfast_lock WHERE name = 'n'") // as an operator may
	s.insert("n")
	take("n")
	s.exec("UPDATE holdfast_lock SET fence = fence + 3600000000") // as of a clock that was set back an hour
	newest += 3600000000
	require.Zero(t, take("n").spare)
	require.Zero(t, take("n").spare)
	require.True(t, s.acquireAll([]string{"m", "n"}, "X", far))
	require.Equal(t, fmt.Sprint(newest+1), r.run(t, "SELECT fence FROM holdfast_lock WHERE name = 'n'"))
}

// A hot name makes one new version of its row with each request. They stay in their page, and the next look takes the
// old ones away, as long as nothing but the key is indexed. No other test runs beside: a transaction that is open
// anywhere on the server keeps old versions (bug 58).
func TestAHotNameKeepsTheTableSmall(t *testing.T) {
	const turns = 1000
	r := newRows(t)
	s := r.session(t)
	s.insert("n")
	for range turns {
		require.True(t, s.acquire("n", "X", far).held)
		require.True(t, s.renew([]string{"n"}, "X")[0].done)
		s.exec(r.sql.want, []string{"n"}, "Y", lease)
		require.True(t, s.release(r.sql.telling.one, []string{"n"}, "X")[0].released)
	}
	require.NoError(t, s.Close(within(t)), "it tells what it counted")
	pgtest.Eventually(t, func() bool {
		return r.run(t, fmt.Sprintf("SELECT n_tup_upd >= %d FROM pg_stat_user_tables", 3*turns)) == "t"
	}, "it was counted")
	require.Equal(t, "t|t|t|t", r.run(t, `
		SELECT n_tup_hot_upd > 0.99 * n_tup_upd, pg_relation_size('holdfast_lock') < 1024 * 1024,
		    pg_indexes_size('holdfast_lock') < 64 * 1024,
		    (SELECT count(*) FROM pg_index WHERE indrelid = 'holdfast_lock'::regclass) = 1
		FROM pg_stat_user_tables`))
}
