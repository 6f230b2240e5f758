package pgstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/watchdog"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = time.Minute

// rows is a table of locks in a database of its own, and the statements for it.
type rows struct {
	url string
	sql *statements
}

const tableName = Table("holdfast_lock")

func newRows(t testing.TB) rows {
	t.Helper()
	r := rows{url: pgtest.Shared(t).Database(t), sql: statementsOf(tableName.quoted(), true)}
	pgtest.Run(t, r.url, migrations(tableName))
	return r
}

// migrations are the statements that make a table, all of them.
func migrations(table Table) (sql string) {
	for _, m := range Migrations(table) {
		sql += m.SQL
	}
	return sql
}

func (r rows) run(t testing.TB, sql string) string {
	t.Helper()
	return pgtest.Run(t, r.url, sql)
}

// far is after all tests, and is when nothing comes too late.
const far = int64(1) << 60

// session is a connection as the store has them. A statement on it that waits for a row longer than a moment fails:
// most must not wait at all.
type session struct {
	testing.TB
	*pgx.Conn
	rows
}

func (r rows) session(t testing.TB) session { return r.connect(t, "&lock_timeout=1000") }

// patient is a session whose statements may wait.
func (r rows) patient(t testing.TB) session { return r.connect(t, "") }

func (r rows) connect(t testing.TB, settings string) session {
	t.Helper()
	conn, err := pgx.Connect(within(t), r.url+"&default_query_exec_mode=exec"+settings)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return session{t, conn, r}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (s session) exec(sql string, args ...any) {
	s.Helper()
	_, err := s.Exec(within(s), sql, args...)
	require.NoError(s, err)
}

// insert makes free rows.
func (s session) insert(names ...string) {
	s.Helper()
	s.exec(s.sql.insert, names)
}

// granted is what an acquisition was answered.
type granted struct {
	held         bool
	fence, spare int64
}

func (s session) take(sql string, args ...any) (got granted) {
	s.Helper()
	err := s.QueryRow(within(s), sql, args...).Scan(&got.fence, &got.spare)
	if err == pgx.ErrNoRows {
		return granted{}
	}
	require.NoError(s, err)
	got.held, got.spare = true, spare(got.fence, got.spare)
	return got
}

// lease is that of the tests, in ms: it does not end while one runs.
const lease = int64(time.Hour / time.Millisecond)

func (s session) acquire(name, id string, notAfter int64) granted {
	s.Helper()
	return s.take(s.sql.acquire, name, id, lease, notAfter)
}

// acquireDeaf is acquire of a client that hears of no release.
func (s session) acquireDeaf(name, id string) granted {
	s.Helper()
	return s.take(s.sql.acquireWary, name, id, lease, far, "", true)
}

func (s session) adopt(name, id, from string, notAfter int64) granted {
	s.Helper()
	return s.take(s.sql.adopt, name, id, lease, notAfter, from)
}

func (s session) acquireAll(names []string, id string, notAfter int64) bool {
	s.Helper()
	return s.takeAll(names, id, notAfter, false)
}

func (s session) takeAll(names []string, id string, notAfter int64, deaf bool) bool {
	s.Helper()
	leases := make([]int64, len(names))
	for i := range leases {
		leases[i] = lease
	}
	var taken int
	require.NoError(s, s.QueryRow(within(s), s.sql.acquireAll, names, id, leases, notAfter, "", deaf).Scan(&taken))
	require.Contains(s, []int{0, len(names)}, taken)
	return taken > 0
}

// parted is what a release of one name was answered.
type parted struct{ released, looked, heard bool }

func (s session) release(sql string, names []string, ids ...string) (all []parted) {
	s.Helper()
	if sql == s.sql.telling.one {
		for i, name := range names {
			all = append(all, s.releaseOne(name, ids[i]))
		}
		return all
	}
	untils, as := make([]int64, len(names)), make([]string, len(names))
	found, err := s.Query(within(s), sql, names, ids, untils, as, "holdfast_lock", untils)
	require.NoError(s, err)
	for found.Next() {
		var one parted
		var micros int64
		var timeline string
		require.NoError(s, found.Scan(&one.released, &one.looked, &one.heard, &micros, &timeline))
		require.NotEmpty(s, timeline)
		all = append(all, one)
	}
	require.NoError(s, found.Err())
	require.Len(s, all, len(names))
	return all
}

// releaseOne waits for the row, so that it has always looked.
func (s session) releaseOne(name, id string) parted {
	s.Helper()
	one := parted{looked: true}
	err := s.QueryRow(within(s), s.sql.telling.one, name, id, "holdfast_lock").Scan(&one.heard, new(int64), new(string))
	if err == pgx.ErrNoRows {
		return one
	}
	require.NoError(s, err)
	one.released = true
	return one
}

// renewed is what the renewal of one hold was answered.
type renewed struct{ done, stands bool }

func (s session) renew(names []string, ids ...string) (all []renewed) {
	s.Helper()
	leases := make([]int64, len(names))
	for i := range leases {
		leases[i] = 2 * lease
	}
	found, err := s.Query(within(s), s.sql.renew, names, ids, leases, "")
	require.NoError(s, err)
	for found.Next() {
		var one renewed
		var micros int64
		var timeline string
		require.NoError(s, found.Scan(&one.done, &one.stands, &micros, &timeline))
		all = append(all, one)
	}
	require.NoError(s, found.Err())
	require.Len(s, all, len(names))
	return all
}

// relied reports that a transaction of the user may rely on a hold.
func (s session) relied(name, id string) bool {
	s.Helper()
	var one int
	err := s.QueryRow(within(s), s.sql.tx, name, id).Scan(&one)
	if err == pgx.ErrNoRows {
		return false
	}
	require.NoError(s, err)
	return true
}

func (s session) begin()    { s.Helper(); s.exec(s.sql.begin) }
func (s session) commit()   { s.Helper(); s.exec(commit) }
func (s session) rollback() { s.Helper(); s.exec("ROLLBACK") }

// clock is the server's, in µs.
func (r rows) clock(t testing.TB) (micros int64) {
	t.Helper()
	require.NoError(t, r.session(t).QueryRow(within(t),
		"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&micros))
	return micros
}

// past waits until the server's clock shows more.
func (r rows) past(t testing.TB, micros int64) {
	t.Helper()
	pgtest.Eventually(t, func() bool { return r.clock(t) > micros }, "time goes by")
}

// waits runs something in a goroutine, and returns once one session of the database waits for a lock.
func waits[T any](t testing.TB, r rows, do func() T) <-chan T {
	t.Helper()
	result := make(chan T, 1)
	go func() { result <- do() }()
	pgtest.Eventually(t, func() bool {
		return len(result) > 0 || r.run(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "+
			"datname = current_database()") == "1"
	}, "it waits")
	require.Empty(t, result, "it should wait for the lock that another transaction has")
	return result
}

func await[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("it should not wait any more")
		panic("unreachable")
	}
}

// peer is a store, as of a process.
type peer struct {
	*Store
	t        testing.TB
	replaced atomic.Int64
}

// open makes a store that polls so seldom that no test sees it.
func (r rows) open(t testing.TB, client string) *peer {
	t.Helper()
	return r.openTable(t, client, tableName)
}

func (r rows) openTable(t testing.TB, client string, table Table) *peer {
	t.Helper()
	config, err := pgxpool.ParseConfig(r.url)
	require.NoError(t, err)
	p := &peer{t: t}
	p.Store = New(config, 4, table, time.Hour, 0, time.Hour)
	p.Start(store.Host{
		Clock: watchdog.NewClock(), Limit: patience, Warn: func(string, ...any) {}, Heard: func(string) {},
		Broken: func(string, string) {}, Missed: func() {},
		Replaced: func() { p.replaced.Add(1) }, Client: client,
	})
	t.Cleanup(func() {
		p.End()
		p.HangUp()
		p.Wait()
	})
	return p
}

func (p *peer) ask(id string) *store.Ask {
	return &store.Ask{ID: id, Lease: time.Hour, Timing: p.timing()}
}

func (p *peer) timing() store.Timing { return store.Timing{Sent: p.host.Clock.Now(), Within: patience} }

func (p *peer) acquire(name, id string) (store.AcquireReply, store.Receipt) {
	p.t.Helper()
	reply, receipt, err := p.Lock(name).Acquire(within(p.t), p.ask(id))
	require.NoError(p.t, err)
	return reply, receipt
}

func (p *peer) take(name, id string) store.AcquireReply {
	p.t.Helper()
	reply, _ := p.acquire(name, id)
	require.Equal(p.t, store.Held, reply.Status)
	return reply
}

func (p *peer) release(name, id string) store.ReleaseReply {
	p.t.Helper()
	reply, err := p.Lock(name).Release(within(p.t), id)
	require.NoError(p.t, err)
	return reply
}

// listen waits for releases of a name. Messages arrive when it returns.
func (p *peer) listen(name string) store.Ticket {
	p.t.Helper()
	ticket := p.Listen(name, name)
	p.t.Cleanup(ticket.Leave)
	await(p.t, ticket.Ready())
	select { // that it is ready was a reason to look, too
	case <-ticket.C():
	default:
	}
	return ticket
}
