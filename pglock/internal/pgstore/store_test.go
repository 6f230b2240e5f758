package pgstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/watchdog"
)

// An acquisition that comes twice is carried out once, and answered as that of its id.
func TestACopyIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p := r.open(t, "c")
	first := p.take("n", "c:1")
	again, _ := p.acquire("n", "c:1")
	require.Equal(t, store.Already, again.Status)
	require.Equal(t, first.Fence, again.Fence)
	require.Positive(t, again.PTTL)
	other, _ := p.acquire("n", "c:2")
	require.Equal(t, store.Busy, other.Status)
	require.Positive(t, other.PTTL)

	of := func(names ...string) (all []store.Member) {
		for _, name := range names {
			all = append(all, store.Member{Proto: p.Lock(name), Lease: time.Hour})
		}
		return all
	}
	set, _, err := p.AcquireAll(within(t), of("b", "a"), "c:3", p.timing())
	require.NoError(t, err)
	require.Equal(t, store.Held, set.Status)
	copied, _, err := p.AcquireAll(within(t), of("b", "a"), "c:3", p.timing())
	require.NoError(t, err)
	require.Equal(t, store.Already, copied.Status)
	require.Equal(t, set.Fences, copied.Fences)
	busy, _, err := p.AcquireAll(within(t), of("a", "n", "b"), "c:4", p.timing())
	require.NoError(t, err)
	require.Equal(t, store.Busy, busy.Status)
	require.Equal(t, 0, busy.Which)
}

// confirming is in the text of sql/confirm.sql alone.
const confirming = "AND id = $2::text ORDER BY name FOR NO KEY UPDATE"

// A copy that sees what an earlier one took confirms that, by a connection that may be one to another server: a standby
// that has taken over and lacks the hold, or has it with another token. Then what the old server showed is worth nothing.
func TestWhatAnotherServerLacksIsNotConfirmed(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]string{
		"the lock is free":           "id = NULL, until = 'epoch'",
		"somebody else has the lock": "id = 'd:9'",
		"a copy took it there":       "fence = fence + 7",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(t)
			proxy := pgproxy.Start(t, pgtest.Shared(t).Addr())
			p := rows{proxy.To(r.url), r.sql}.open(t, "c")
			first := p.take("n", "c:1")
			gate := pgproxy.NewGate()
			held := proxy.On(confirming, pgproxy.Hold(gate))
			copied := make(chan store.AcquireReply, 1)
			go func() {
				reply, _ := p.acquire("n", "c:1")
				copied <- reply
			}()
			held.Wait(t, 1)
			s := r.session(t)
			s.exec("UPDATE holdfast_lock SET " + elsewhere)
			gate.Open()
			reply := <-copied
			switch name {
			case "the lock is free":
				require.Equal(t, store.Held, reply.Status)
				require.Greater(t, reply.Fence, first.Fence)
			case "somebody else has the lock":
				require.Equal(t, store.Busy, reply.Status)
			default:
				require.Equal(t, store.Already, reply.Status)
				require.Equal(t, first.Fence+7, reply.Fence)
			}
		})
	}
}

// A confirmation whose answer is lost proves nothing: the copy is in doubt, and the next one has the same hold.
func TestTheAnswerToAConfirmationIsLost(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	proxy := pgproxy.Start(t, pgtest.Shared(t).Addr())
	p := rows{proxy.To(r.url), r.sql}.open(t, "c")
	first := p.take("n", "c:1")
	for name, action := range map[string]pgproxy.Action{
		"after the effect": pgproxy.CutAfter, "before it": pgproxy.CutBefore,
	} {
		rule := proxy.On(confirming, action)
		_, _, err := p.Lock("n").Acquire(within(t), p.ask("c:1"))
		require.Equal(t, store.FaultAmbiguous, store.FaultOf(err), name)
		rule.Wait(t, 1)
	}
	again, _ := p.acquire("n", "c:1")
	require.Equal(t, store.Already, again.Status)
	require.Equal(t, first.Fence, again.Fence)
}

// A copy that comes after the release of its id, and in time, takes the lock again, so the id is released until the
// store says that none can come. Then one does nothing.
func TestACopyAfterTheRelease(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, s := r.open(t, "c"), r.session(t)
	s.insert("n")
	soon := r.soon(t)
	require.True(t, s.acquire("n", "X", soon).held)
	parting := &store.Parting{Proto: p.Lock("n"), ID: "X", Late: store.Late(soon)}
	require.NoError(t, p.ReleaseAll(within(t), []*store.Parting{parting}))
	require.Equal(t, store.Done, parting.Reply.Status)
	require.Positive(t, parting.Again, "a copy may come")
	for parting.Again > 0 {
		s.acquire("n", "X", soon)
		p.ReleaseEach(within(t), []*store.Parting{parting})
		require.NoError(t, parting.Err)
	}
	require.False(t, s.acquire("n", "X", soon).held)
	require.Equal(t, "t", r.run(t, "SELECT id IS NULL FROM holdfast_lock"))
}

// A hold that could not be looked at is no hold that is gone.
func TestALockedRowIsNotGone(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, s := r.open(t, "c"), r.session(t)
	p.take("a", "c:1")
	p.take("b", "c:2")
	s.begin()
	s.exec("SELECT 1 FROM holdfast_lock WHERE name = 'a' FOR UPDATE")
	renewals := []store.Renewal{
		{Proto: p.Lock("a"), ID: "c:1", TTL: time.Hour}, {Proto: p.Lock("b"), ID: "c:2", TTL: time.Hour},
		{Proto: p.Lock("b"), ID: "c:3", TTL: time.Hour},
	}
	p.Renew(within(t), renewals)
	require.Equal(t, store.FaultTransient, store.FaultOf(renewals[0].Err))
	require.NotErrorIs(t, renewals[0].Err, watchdog.ErrGone)
	require.NoError(t, renewals[1].Err)
	require.ErrorIs(t, renewals[2].Err, watchdog.ErrGone)
	partings := []*store.Parting{{Proto: p.Lock("a"), ID: "c:1", Late: 1}, {Proto: p.Lock("b"), ID: "c:2", Late: 1}}
	p.ReleaseEach(within(t), partings)
	require.Equal(t, store.FaultTransient, store.FaultOf(partings[0].Err))
	require.NoError(t, partings[1].Err)
	require.Equal(t, store.Done, partings[1].Reply.Status)
	require.Zero(t, partings[1].Again, "no copy can come any more")
}

// What answers otherwise than the statements do is an error, and does not end the process.
func TestAnAnswerWithoutARowForEachHold(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p := r.open(t, "c")
	p.take("a", "c:1")
	p.place().sql.renew += " LIMIT 1"
	p.place().sql.telling.all += " LIMIT 1"
	p.place().sql.telling.many += " LIMIT 1"
	renewals := []store.Renewal{
		{Proto: p.Lock("a"), ID: "c:1", TTL: time.Hour}, {Proto: p.Lock("b"), ID: "c:2", TTL: time.Hour},
	}
	p.Renew(within(t), renewals)
	partings := []*store.Parting{{Proto: p.Lock("a"), ID: "c:1"}, {Proto: p.Lock("b"), ID: "c:2"}}
	p.ReleaseEach(within(t), partings)
	errs := []error{renewals[0].Err, renewals[1].Err, partings[0].Err, partings[1].Err, p.ReleaseAll(within(t), partings)}
	for _, err := range errs {
		require.Equal(t, store.FaultAmbiguous, store.FaultOf(err), "%v", errs)
		require.NotErrorIs(t, err, watchdog.ErrGone)
	}
}

// A name is any text.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ж", 512)
	names := []string{
		"'; DROP TABLE holdfast_lock; --", `"quoted"`, `back\slash`, "100%_", "a,b {c} \"NULL\"", "NULL", " ", "=", "$1",
		"{{table}}", "new\nline", "🔒 ключ", "e\u0301", "\u00e9", "E", "e", long, strings.Repeat("'", 1024),
	}
	r := newRows(t)
	p, other := r.open(t, "c"), r.open(t, "d")
	var members []store.Member
	for i, name := range names {
		id := fmt.Sprint("c:", i)
		got := p.take(name, id)
		seen, err := p.Lock(name).Inspect(within(t))
		require.NoError(t, err)
		require.Equal(t, id, seen.Holders[0].ID)
		status, err := p.Lock(name).Note(within(t), store.Note{ID: id, Fence: got.Fence, Text: name}, false)
		require.NoError(t, err)
		require.Equal(t, store.Done, status)
		noted, err := p.Lock(name).Noted(within(t))
		require.NoError(t, err)
		require.Equal(t, name, noted.Text)
		renewal := []store.Renewal{{Proto: p.Lock(name), ID: id, TTL: time.Hour}}
		p.Renew(within(t), renewal)
		require.NoError(t, renewal[0].Err)

		heard := other.listen(name)
		busy, _ := other.acquire(name, "d:1")
		require.Equal(t, store.Busy, busy.Status)
		require.Equal(t, store.ReleaseReply{Status: store.Done, Receivers: 1}, p.release(name, id))
		await(t, heard.C())
		members = append(members, store.Member{Proto: p.Lock(name), Lease: time.Hour})
	}
	all, _, err := p.AcquireAll(within(t), members, "c:all", p.timing())
	require.NoError(t, err)
	require.Equal(t, store.Held, all.Status)
	found, err := p.List(within(t), "%", "", 100)
	require.NoError(t, err)
	var listed []string
	for _, row := range found {
		require.Equal(t, "c:all", row.ID)
		listed = append(listed, row.Name)
	}
	require.ElementsMatch(t, names, listed)
	found, err = p.List(within(t), `100\%\_`, "", 100)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// A table may have any name, too, in any schema.
func TestTablesOfAnyName(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	for _, table := range []Table{`Odd schema.lo"ck's`, "locks 🔒"} {
		require.Empty(t, table.Problem())
		r.run(t, `CREATE SCHEMA IF NOT EXISTS "Odd schema"; `+migrations(table))
		p, other := r.openTable(t, "c", table), r.openTable(t, "d", table)
		require.NoError(t, p.Ready(within(t), patience))
		p.take("n", "c:1")
		heard := other.listen("n")
		busy, _ := other.acquire("n", "d:1")
		require.Equal(t, store.Busy, busy.Status)
		require.Equal(t, store.ReleaseReply{Status: store.Done, Receivers: 1}, p.release("n", "c:1"))
		await(t, heard.C())
	}
	require.Equal(t, "0", r.run(t, "SELECT count(*) FROM holdfast_lock"))
}

// Those who wait are told of a release that stands, and nothing is sent to those who wait for nothing.
func TestAReleaseTellsThoseWhoWait(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, other, s := r.open(t, "c"), r.open(t, "d"), r.session(t)
	ticket, last := other.listen("n"), other.listen("last")
	messages := func() uint64 {
		s.exec("SELECT pg_notify($1, '=c last')", "holdfast_lock") // messages come in the order of the commits
		await(t, last.C())
		return ticket.Heard().Messages
	}
	p.take("n", "c:1")
	require.Equal(t, store.ReleaseReply{Status: store.Done}, p.release("n", "c:1"), "it listens, and has not asked")
	require.Zero(t, messages())
	p.take("n", "c:2")
	busy, _ := other.acquire("n", "d:1")
	require.Equal(t, store.Busy, busy.Status)
	s.begin()
	require.True(t, s.release(r.sql.telling.one, []string{"n"}, "c:2")[0].heard)
	s.rollback()
	s.begin()
	require.True(t, s.release(r.sql.telling.all, []string{"n"}, "c:2")[0].heard)
	s.rollback()
	require.Zero(t, messages(), "no release stands")
	require.Equal(t, store.ReleaseReply{Status: store.Done, Receivers: 1}, p.release("n", "c:2"))
	require.EqualValues(t, 1, messages())
	require.Len(t, ticket.C(), 1)
	p.take("n", "c:3")
	parting := &store.Parting{Proto: p.Lock("n"), ID: "c:3"}
	require.NoError(t, p.ReleaseAll(within(t), []*store.Parting{parting}))
	require.Equal(t, store.ReleaseReply{Status: store.Done, Receivers: 1}, parting.Reply)
	require.EqualValues(t, 2, messages())
}

// A caller that asks for a lock while it is released waits for the release, and has the lock then: the release has seen
// no waiter, and sends nothing.
func TestAReleaseBesideTheMarkOfAWaiter(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, s := r.open(t, "c"), r.session(t)
	s.insert("n")
	require.True(t, s.acquire("n", "X", far).held)
	p.listen("n")
	s.begin()
	require.Equal(t, []parted{{released: true, looked: true}}, s.release(r.sql.telling.one, []string{"n"}, "X"))
	result := waits(t, r, func() store.AcquireReply {
		reply, _ := p.acquire("n", "c:1")
		return reply
	})
	s.commit()
	require.Equal(t, store.Held, await(t, result).Status)
	require.Equal(t, "epoch", r.run(t, "SELECT CASE WHEN wanted = 'epoch' THEN 'epoch' END FROM holdfast_lock"))
}

// The row says that somebody waits, whether messages reach him or not, and says so of nobody who has left.
func TestAWaiterIsMarked(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, s := r.open(t, "c"), r.session(t)
	s.insert("n")
	require.True(t, s.acquire("n", "X", far).held)
	marked := func() string {
		reply, _ := p.acquire("n", "c:1")
		require.Equal(t, store.Busy, reply.Status)
		return r.run(t, "SELECT wanted > clock_timestamp() FROM holdfast_lock")
	}
	require.Equal(t, "f", marked(), "nobody waits")
	ticket := p.hub.listen("n", "n") // as if the connection that listens were being made
	require.Equal(t, "t", marked())
	p.hub.stands()
	require.Len(t, ticket.C(), 1, "he looks again when it stands")
	s.exec("UPDATE holdfast_lock SET wanted = 'epoch'")
	require.Equal(t, "t", marked())
	s.exec("UPDATE holdfast_lock SET wanted = 'epoch'")
	ticket.Leave()
	require.Equal(t, "f", marked(), "nobody waits")
}

// A waiter whose lock went from hand to hand while it could not note that it listens would hear of no release: it asks
// again soon.
func TestAWaiterThatIsNotNotedAsksAgainSoon(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	p, s := r.open(t, "c"), r.session(t)
	s.insert("n")
	require.True(t, s.acquire("n", "X", far).held)
	require.NoError(t, p.Ready(within(t), patience))
	p.hub.listen("n", "n")
	p.hub.stands()
	single := func() time.Duration {
		reply, _ := p.acquire("n", "c:1")
		require.Equal(t, store.Busy, reply.Status)
		return reply.PTTL
	}
	set := func() time.Duration {
		members := []store.Member{{Proto: p.Lock("n"), Lease: patience}}
		reply, _, err := p.AcquireAll(within(t), members, "c:2", p.timing())
		require.NoError(t, err)
		require.Equal(t, store.Busy, reply.Status)
		return reply.PTTL
	}
	for _, ask := range []func() time.Duration{single, set} {
		s.exec("UPDATE holdfast_lock SET wanted = 'epoch'")
		want := p.place().sql.want
		p.place().sql.want = "SELECT $1::text[], $2::text, $3::bigint" // as if the lock had been free at that moment
		require.Equal(t, lockedFor, ask())
		p.place().sql.want = want
		require.Greater(t, ask(), lockedFor)
	}
	s.exec("UPDATE holdfast_lock SET wanted = clock_timestamp() + interval '1 minute'")
	p.place().sql.want = "SELECT $1::text[], $2::text, $3::bigint"
	p.poll = 2 * time.Minute
	require.Equal(t, lockedFor, single(), "the note of another waiter ends before this one polls")
}

// A server on another timeline is another one: what it lacks is to be found out.
func TestAnotherTimelineIsAnotherServer(t *testing.T) {
	t.Parallel()
	p := newRows(t).open(t, "c")
	p.take("n", "c:1")
	p.take("m", "c:3")
	require.Equal(t, "00000001", p.lineage.timeline)
	require.Zero(t, p.replaced.Load())
	p.mu.Lock()
	p.lineage.timeline = "00000002" // as if the last answer had come from there
	p.mu.Unlock()
	for i, ask := range []func(){
		func() { p.acquire("n", "c:2") },
		func() { p.release("m", "c:3") },
		func() { p.Renew(within(t), []store.Renewal{{Proto: p.Lock("n"), ID: "c:1", TTL: time.Hour}}) },
	} {
		ask()
		require.EqualValues(t, i+1, p.replaced.Load())
		ask()
		require.EqualValues(t, i+1, p.replaced.Load(), "once")
		p.mu.Lock()
		p.lineage.timeline = "00000002"
		p.mu.Unlock()
	}
}
