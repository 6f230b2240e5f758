package zklock_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/fates"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// keeper is a server that restores no session, as ClickHouse Keeper: it gives another one instead, and all requests are
// answered. It is between a client and a ZooKeeper, and asks that for a new session each time.
func keeper(t *testing.T, behind string, change func(handshake []byte)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { relay(conn, behind, change) })
		}
	})
	return l.Addr().String()
}

// relay changes the handshake of a connection, and passes on what follows.
func relay(conn net.Conn, behind string, change func(handshake []byte)) {
	defer func() { _ = conn.Close() }()
	next, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer func() { _ = next.Close() }()
	handshake := make([]byte, 49)
	if _, err := io.ReadFull(conn, handshake); err != nil {
		return
	}
	change(handshake)
	if _, err := next.Write(handshake); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(conn, next)
		_ = conn.Close()
	}()
	_, _ = io.Copy(next, conn)
}

// fresh has a handshake ask for a new session.
func fresh(handshake []byte) { clear(handshake[20:]); binary.BigEndian.PutUint32(handshake[28:], 16) }

// A server that restores no session is refused by every call, with words, before anything is taken.
func TestAServerThatRestoresNoSession(t *testing.T) {
	t.Parallel()
	c := client(t, zklock.Options{}, keeper(t, zktest.Shared(t).Addr(), fresh))
	for what, call := range calls {
		err := call(within(t), c)
		require.ErrorIs(t, err, lock.ErrUnavailable, what)
		var unfit *zklock.ServerError
		require.ErrorAs(t, err, &unfit, what)
		require.Contains(t, unfit.Problem, "ClickHouse Keeper")
	}
}

// A server that cannot say which nodes a session has, because it is too old, is refused by every call, with words,
// before anything is taken. One answers so that a request is sent to which it does not know. (defect G71)
func TestAServerThatIsTooOld(t *testing.T) {
	t.Parallel()
	faults, name := &wire{}, nameOf(t)
	faults.OnEach(sweeping, fates.Refused, -1)
	c := client(t, zklock.Options{Dial: faults.Dial})
	for what, call := range calls {
		err := call(within(t), c)
		require.ErrorIs(t, err, lock.ErrUnavailable, what)
		var unfit *zklock.ServerError
		require.ErrorAs(t, err, &unfit, what)
		require.Contains(t, unfit.Problem, "cannot say which nodes a session has: use 3.9.4 or newer")
	}
	require.Zero(t, faults.Count(acquiring))
	faults.Off()
	taken(t, c.Lock(name))
}

// Where the server does not know how a node is made, nothing is. It says so, unless that is lost with the connection,
// which it ends.
func TestAServerThatMakesNoNodes(t *testing.T) {
	t.Parallel()
	faults, c, plain, name := wired(t)
	faults.OnEach(acquiring, fates.Refused, -1)
	_, _, err := c.Lock(name).TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	faults.Off()
	require.Empty(t, plain.children(t, pathOf(name)))
	taken(t, c.Lock(name))
}

// A server that cannot be used any more while something is held is not relied on, and the hold ends before its session
// does.
func TestAServerThatCannotBeUsedAnyMore(t *testing.T) {
	t.Parallel()
	for what, spoils := range map[string]func(faults *wire, forgets *atomic.Bool){
		"it restores no session": func(_ *wire, forgets *atomic.Bool) { forgets.Store(true) },
		"it is too old":          func(faults *wire, _ *atomic.Bool) { faults.OnEach(sweeping, fates.Refused, -1) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var forgets atomic.Bool
			faults := &wire{}
			address := keeper(t, zktest.Shared(t).Addr(), func(handshake []byte) {
				if forgets.Load() {
					fresh(handshake)
				}
			})
			c := client(t, zklock.Options{Lease: brief, Dial: faults.Dial}, address)
			all, plain := clients(t, 1, zklock.Options{})
			name := nameOf(t)
			held, unlock := take(t, c.Lock(name))
			got := waits(t, plain, all[0].Lock(name), 2)
			spoils(faults, &forgets)
			turn := has(t, got)
			var loss *lock.LostError
			require.ErrorAs(t, context.Cause(held), &loss, "it was told before")
			require.Equal(t, lock.LossExpired, loss.Reason)
			require.Error(t, unlock())
			require.NoError(t, turn.unlock())
		})
	}
}

// A server that grants less than the lease is refused, with words.
func TestAServerThatGrantsLess(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{Config: []string{"maxSessionTimeout=20000"}})
	c := client(t, zklock.Options{Lease: 21 * time.Second}, server.Addr())
	for what, call := range calls {
		err := call(within(t), c)
		require.ErrorIs(t, err, lock.ErrUnavailable, what)
		var unfit *zklock.ServerError
		require.ErrorAs(t, err, &unfit, what)
		require.Contains(t, unfit.Problem, "20s")
		require.Contains(t, unfit.Problem, "maxSessionTimeout")
	}
	taken(t, client(t, zklock.Options{Lease: 20 * time.Second}, server.Addr()).Lock("a"))
}

// stingy are two servers of which a test decides whether they give sessions only half of their time, and how often one
// did.
type stingy struct {
	less  [2]atomic.Bool
	given atomic.Int32
}

func (s *stingy) start(t *testing.T) (addresses []string) {
	for i := range s.less {
		addresses = append(addresses, keeper(t, zktest.Shared(t).Addr(), func(handshake []byte) {
			if s.less[i].Load() {
				s.given.Add(1)
				time := handshake[16:]
				binary.BigEndian.PutUint32(time, binary.BigEndian.Uint32(time)/2)
			}
		}))
	}
	return addresses
}

// A hold whose session was given less time by one server is renewed by another one, which gives it all of it again.
func TestAServerThatGrantsASessionLess(t *testing.T) {
	t.Parallel()
	servers, faults := &stingy{}, &wire{}
	c := client(t, zklock.Options{Lease: never / 6, Dial: faults.Dial}, servers.start(t)...)
	plain, name := connect(t, zktest.Shared(t).Addr()), nameOf(t)
	held, unlock := take(t, c.Lock(name))
	session := plain.stand(t, pathOf(name), 1)[0].Owner
	servers.less[0].Store(true)
	for range 2 { // each time the session is attached to the other server, if that gives it all of its time
		faults.On(acquiring, fates.Lost)
		taken(t, c.Lock(name+"-other"))
	}
	require.Positive(t, servers.given.Load())
	require.NoError(t, held.Err())
	require.Equal(t, session, plain.stand(t, pathOf(name), 1)[0].Owner)
	require.NoError(t, unlock())
}

// Where no server gives a session all of its time again, its holds end at once, and the session, before the servers end
// it by themselves.
func TestServersThatGrantASessionLess(t *testing.T) {
	t.Parallel()
	servers, faults := &stingy{}, &wire{}
	c := client(t, zklock.Options{Lease: never / 6, Dial: faults.Dial}, servers.start(t)...)
	all, plain := clients(t, 1, zklock.Options{})
	name := nameOf(t)
	held, unlock := take(t, c.Lock(name))
	got := waits(t, plain, all[0].Lock(name), 2)
	for i := range servers.less {
		servers.less[i].Store(true)
	}
	began := time.Now()
	faults.On(acquiring, fates.Lost) // so that the session is attached again
	_, _, err := c.Lock(name + "-other").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	turn := has(t, got)
	require.Less(t, time.Since(began), never/12, "which the session has left")
	var loss *lock.LostError
	require.ErrorAs(t, context.Cause(held), &loss, "it was told before")
	require.ErrorIs(t, unlock(), lock.ErrLost)
	require.NoError(t, turn.unlock())
	_, _, err = c.Lock(name).TryLock(within(t))
	var unfit *zklock.ServerError
	require.ErrorAs(t, err, &unfit)
	require.Contains(t, unfit.Problem, "grants sessions of 50s at most, which is less than the lease of 1m40s")
	for i := range servers.less {
		servers.less[i].Store(false)
	}
	taken(t, c.Lock(name))
}

// A new client locks while some of the servers do not answer: one that is not there, and one that stands still.
func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	present := zktest.Shared(t).Addr()
	for what, absent := range map[string]string{"gone": nowhere, "silent": silent.Addr().String()} {
		for _, servers := range [][]string{{absent, present}, {present, absent}, {absent, present, absent}} {
			taken(t, client(t, zklock.Options{Lease: 3 * brief}, servers...).Lock(nameOf(t)))
		}
		c := client(t, zklock.Options{Lease: brief}, absent, absent)
		began := time.Now()
		_, _, err := c.Lock(nameOf(t)).TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable, what)
		require.Less(t, time.Since(began), brief)
		require.NoError(t, c.Close())
	}
}

// Where a server allows an address one connection, a hold is renewed all the same, by giving that up for the next one.
func TestMaxClientCnxns(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{Config: []string{"maxClientCnxns=1"}})
	told := &holding.Renewals{}
	c := client(t, zklock.Options{Lease: brief, Observer: told.Observer()}, server.Addr())
	held, unlock := take(t, c.Lock("a"))
	told.Outlast(t, "a")
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}

// Servers delete a lock's node some time after its last child. Those who come then, and those who wait, have it made
// again, and tokens go on.
func TestContainersThatAreDeleted(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{JVM: []string{"-Dznode.container.checkIntervalMs=200"}})
	c := client(t, zklock.Options{}, server.Addr())
	plain := connect(t, server.Addr())
	l := c.Lock("a/b")
	var last int64
	for range 3 {
		held, unlock := take(t, l)
		require.Greater(t, fenceOf(t, l, held), last)
		last = fenceOf(t, l, held)
		require.NoError(t, unlock())
		eventually(t, func() bool { return len(plain.children(t, "/holdfast/locks")) == 0 }, "both nodes are deleted")
	}
}

// While containers are deleted as often as can be, locks go from one client to the other.
func TestContainersThatAreDeletedUnderWaiters(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{JVM: []string{
		"-Dznode.container.checkIntervalMs=1", "-Dznode.container.maxPerMinute=100000",
	}})
	var working sync.WaitGroup
	var inside, turns atomic.Int32
	for range 2 {
		c := client(t, zklock.Options{}, server.Addr())
		working.Go(func() {
			for range 100 {
				err := c.Lock("a").Do(within(t), func(context.Context) error {
					if inside.Add(1) != 1 {
						t.Error("two holders")
					}
					turns.Add(1)
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond) // the lock is free, now and then
			}
		})
	}
	working.Wait()
	require.EqualValues(t, 200, turns.Load())
}

// hash is what ZooKeeper makes of "user:password".
const hash = "user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY="

// With authentication a client's nodes are its user's. It is said of each connection: a renewal makes another one, and
// without it the client could not delete its own nodes.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	for what, opts := range map[string]zklock.Options{
		"its user's": {},
		"by an ACL":  {ACL: []zklock.ACL{{zklock.PermAll, "digest", hash}}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server, told := zktest.Start(t, zktest.Options{}), &holding.Renewals{}
			opts.Lease, opts.Observer = brief, told.Observer()
			opts.Auth = []zklock.Auth{{"digest", "user:password"}}
			c := client(t, opts, server.Addr())
			held, unlock := take(t, c.Lock("a"))
			for _, other := range []zklock.Options{{}, {Auth: []zklock.Auth{{"digest", "user:wrong"}}}} {
				for name, call := range locking {
					err := call(t, client(t, other, server.Addr()).Lock("a"))
					require.ErrorIs(t, err, lock.ErrUnavailable, name)
					require.ErrorContains(t, err, "the ACL does not allow it")
				}
			}
			same := client(t, opts, server.Addr())
			_, _, err := same.Lock("a").TryLock(within(t))
			require.ErrorIs(t, err, lock.ErrBusy)
			told.Outlast(t, "a")
			require.NoError(t, held.Err())
			require.NoError(t, unlock())
			taken(t, same.Lock("a"))
		})
	}
	c := client(t, zklock.Options{Auth: []zklock.Auth{{"nonsense", "x"}}})
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "authentication failed")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server, told := zktest.Start(t, zktest.Options{TLS: true}), &holding.Renewals{}
	c := client(t, zklock.Options{Lease: brief, TLS: server.TLS(), Observer: told.Observer()}, server.SecureAddr())
	held, unlock := take(t, c.Lock("a"))
	_, _, err := client(t, zklock.Options{}, server.Addr()).Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	told.Outlast(t, "a")
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	require.Contains(t, zklock.Check(within(t), c)[0].Text, "ZooKeeper 3.", "it is asked with TLS")

	unknown := client(t, zklock.Options{Lease: brief}, server.SecureAddr())
	_, _, err = unknown.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
}

// After older data were restored a holder is told, and one whose node is there goes on. Tokens fall until Rebase is
// called.
func TestDataThatAreRestored(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	c := client(t, zklock.Options{}, server.Addr())
	early, unlock := take(t, c.Lock("early"))
	_, ghost := take(t, c.Lock("ghost"))
	snapshot := server.Snapshot(t)
	late, _ := take(t, c.Lock("late"))
	require.NoError(t, ghost())
	for i := range 300 { // so that the restored server is behind
		taken(t, c.Lock("many"+strconv.Itoa(i%3)))
	}
	last, end := take(t, c.Lock("tokens"))
	fence := fenceOf(t, c.Lock("tokens"), last)
	require.NoError(t, end())
	server.Rewind(t, snapshot)
	requireGone(t, late)
	require.NoError(t, early.Err())
	require.NoError(t, unlock())
	other := client(t, zklock.Options{}, server.Addr())
	taken(t, other.Lock("ghost")) // which came back, and which its client deletes
	require.NoError(t, zklock.Rebase(within(t), other))
	held, unlock := take(t, c.Lock("tokens"))
	require.Greater(t, fenceOf(t, c.Lock("tokens"), held), fence)
	require.NoError(t, unlock())
}
