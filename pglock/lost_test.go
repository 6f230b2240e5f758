package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/pglock"
)

// lost are the ways in which an answer gets lost after its request was carried out.
var lost = map[string]pgproxy.Action{"cut": pgproxy.CutAfter, "silence": pgproxy.DropAnswer}

// An acquisition whose answer is lost is held once, by the caller that asked for it, whose next attempt learns of it.
func TestAnAcquisitionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, action := range lost {
		for name, lockOf := range map[string]func(l *lock.Lock, ctx context.Context) (context.Context, func() error, error){
			"Lock": (*lock.Lock).Lock, "TryLock": (*lock.Lock).TryLock,
		} {
			if way == "silence" && name == "TryLock" {
				continue // which has the time of one request
			}
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				proxy, of, c := proxied(t, pglock.Options{Lease: 6 * time.Second})
				warm(t, c, "a")
				rule := proxy.On(acquiring, action)
				l := c.Lock("a")
				held, unlock, err := lockOf(l, within(t))
				require.NoError(t, err)
				rule.Wait(t, 1)
				hold, err := l.Held(held)
				require.NoError(t, err)
				info, err := l.Inspect(within(t))
				require.NoError(t, err)
				require.Len(t, info.Holders, 1)
				require.Equal(t, hold.ID, info.Holders[0].ID)
				require.Equal(t, hold.Fence, info.Holders[0].Fence)
				require.NoError(t, unlock())
				require.Equal(t, "f|f|f", row(t, of, "a"))
				require.Zero(t, proxy.Cancels())
			})
		}
	}
}

// A set of which the answer is lost is held once.
func TestASetWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	proxy, of, c := proxied(t, pglock.Options{Lease: 6 * time.Second})
	warm(t, c, "a", "b", "c")
	set := multilock.New([]*lock.Lock{c.Lock("a"), c.Lock("b"), c.Lock("c")})
	taking := proxy.On(acquiring, pgproxy.CutAfter)
	held, unlock, err := set.Lock(within(t))
	require.NoError(t, err)
	taking.Wait(t, 1)
	for _, name := range []string{"a", "b", "c"} {
		_, err := c.Lock(name).Held(held)
		require.NoError(t, err)
		require.Equal(t, "t|t|f", row(t, of, name))
	}
	parting := proxy.On(partings, pgproxy.CutAfter)
	require.NoError(t, unlock())
	parting.Wait(t, 1)
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, "f|f|f", row(t, of, name))
	}
}

// What was taken for a caller that has left is released, long before its lease is over.
func TestAnAcquisitionWhoseCallerLeft(t *testing.T) {
	t.Parallel()
	for way, action := range lost {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			proxy, of, c := proxied(t, pglock.Options{})
			warm(t, c, "a")
			rule := proxy.On(acquiring, action)
			refused := proxy.On(acquiring, pgproxy.CutBefore).Times(-1)
			ctx, cancel := context.WithCancel(within(t))
			got := make(chan error, 1)
			go func() {
				_, _, err := c.Lock("a").Lock(ctx)
				got <- err
			}()
			rule.Wait(t, 1)
			require.Equal(t, "t|t|f", row(t, of, "a"))
			cancel()
			err := await(t, got, "a caller that leaves returns")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, lock.ErrUnavailable)
			refused.Times(0)
			isFree(t, of, "a")
			taken(t, c.Lock("a"))
		})
	}
}

// A release whose answer is lost is no loss, and unlock says that all is well.
func TestAReleaseWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, action := range lost {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var losses atomic.Int64
			proxy, of, c := proxied(t, pglock.Options{Lease: 6 * time.Second, Observer: counting(&losses)})
			l := c.Lock("a")
			for range 3 {
				_, unlock := take(t, within(t), l)
				rule := proxy.On(releasing, action)
				require.NoError(t, unlock())
				rule.Wait(t, 1)
				require.Equal(t, "f|f|f", row(t, of, "a"))
			}
			require.NoError(t, c.Close())
			require.Zero(t, losses.Load())
		})
	}
}

// counting counts losses.
func counting(losses *atomic.Int64) *lock.Observer {
	return &lock.Observer{Lost: func(*lock.LostError) { losses.Add(1) }}
}

// A renewal whose answer is lost ends nothing: the next one is in time. (cirello.io/pglock ended the hold, its issue
// 175: bug 56.)
func TestARenewalWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, action := range lost {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var losses, failed atomic.Int64
			confirmed := make(chan struct{}, 100)
			seen := counting(&losses)
			seen.Renewed = func(r lock.Renewal) {
				if r.Err != nil {
					failed.Add(1)
					return
				}
				confirmed <- struct{}{}
			}
			proxy, _, c := proxied(t, pglock.Options{Lease: 3 * time.Second, Observer: seen})
			held, unlock := take(t, within(t), c.Lock("a"))
			for range 2 {
				rule := proxy.On(renewing, action)
				rule.Wait(t, 1)
				await(t, confirmed, "the next renewal")
			}
			await(t, confirmed, "another renewal")
			require.NoError(t, held.Err())
			require.NoError(t, unlock())
			require.NoError(t, c.Close())
			require.GreaterOrEqual(t, failed.Load(), int64(2))
			require.Zero(t, losses.Load())
		})
	}
}

// late is a client behind a proxy that holds one of its requests back, and another client, which is in time.
type late struct {
	*pgproxy.Proxy
	of   string
	a, b *lock.Lock
	gate *pgproxy.Gate
	rule *pgproxy.Rule
}

// holdBack has the proxy hold the next request of a kind back.
func (l *late) holdBack(text string) {
	l.gate = pgproxy.NewGate()
	l.rule = l.On(text, pgproxy.Hold(l.gate))
}

// deliver lets the request that was held back through, and waits until the server has answered it.
func (l *late) deliver(t *testing.T) {
	t.Helper()
	l.gate.Open()
	await(t, l.gate.Delivered(), "the late request")
}

func newLate(t *testing.T) *late {
	t.Helper()
	proxy, of, c := proxied(t, pglock.Options{Lease: 3 * time.Second})
	warm(t, c, "a")
	inTime := client(t, pool(t, of), pglock.Options{}).Lock("a", lock.FixedLease(time.Minute)) // which nothing renews
	l := &late{Proxy: proxy, of: of, a: c.Lock("a"), b: inTime}
	t.Cleanup(func() { l.gate.Open() })
	return l
}

// state is all that the table says of the lock.
func (l *late) state(t *testing.T) string {
	t.Helper()
	return row(t, l.of, "a") + psql(t, l.of, "SELECT id, until, fence FROM holdfast_lock WHERE name = 'a'")
}

// unchanged has the other client hold the lock while the late request arrives.
func (l *late) unchanged(t *testing.T) {
	t.Helper()
	held, unlock := take(t, within(t), l.b)
	before := l.state(t)
	l.deliver(t)
	require.Equal(t, before, l.state(t), "the late request does nothing")
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	isFree(t, l.of, "a")
}

// A request that is held back, and arrives when its caller has left and another has the lock, does nothing.
func TestALateRequestDoesNothing(t *testing.T) {
	t.Parallel()
	t.Run("to take", func(t *testing.T) {
		t.Parallel()
		l := newLate(t)
		l.holdBack(acquiring)
		_, _, err := l.a.TryLock(within(t)) // and its time is over
		require.ErrorIs(t, err, lock.ErrUnavailable)
		l.unchanged(t)
	})
	t.Run("to take what is free", func(t *testing.T) {
		t.Parallel()
		l := newLate(t)
		l.holdBack(acquiring)
		_, _, err := l.a.TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		before := l.state(t)
		l.deliver(t)
		require.Equal(t, before, l.state(t), "it comes after the time until when it may be carried out")
	})
	t.Run("to release", func(t *testing.T) {
		t.Parallel()
		l := newLate(t)
		_, unlock := take(t, within(t), l.a)
		l.holdBack(releasing)
		require.NoError(t, unlock(), "the next one is in time")
		l.unchanged(t)
	})
	t.Run("to renew", func(t *testing.T) {
		t.Parallel()
		l := newLate(t)
		_, unlock := take(t, within(t), l.a)
		l.holdBack(renewing)
		l.rule.Wait(t, 1)
		require.NoError(t, unlock())
		l.unchanged(t)
	})
}

// One that arrives in time, when nobody waits for it any more, takes the lock, which is released at once.
func TestALateRequestThatIsInTimeLeavesNothing(t *testing.T) {
	t.Parallel()
	proxy, of, c := proxied(t, pglock.Options{})
	warm(t, c, "a")
	gate := pgproxy.NewGate()
	t.Cleanup(gate.Open)
	rule := proxy.On(acquiring, pgproxy.Hold(gate))
	const token = "SELECT fence FROM holdfast_lock WHERE name = 'a'"
	before := psql(t, of, token)
	ctx, cancel := context.WithCancel(within(t))
	got := make(chan error, 1)
	go func() {
		_, _, err := c.Lock("a").Lock(ctx)
		got <- err
	}()
	rule.Wait(t, 1)
	cancel()
	require.ErrorIs(t, await(t, got, "a caller that leaves returns at once"), context.Canceled)
	gate.Open()
	await(t, gate.Delivered(), "the late request")
	require.NotEqual(t, before, psql(t, of, token), "it took the lock")
	isFree(t, of, "a")
}

// An export or import whose answer is lost is carried out once: the importer has the hold, or nobody.
func TestAHandOverWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	proxy, of, c := proxied(t, pglock.Options{Lease: 6 * time.Second})
	warm(t, c)
	const adopting = "AND l.id = $5"
	held, _ := take(t, within(t), c.Lock("a"))
	hold, err := c.Lock("a").Held(held)
	require.NoError(t, err)
	leaving := proxy.On(adopting, pgproxy.CutAfter)
	token, err := c.Lock("a").Export(held)
	require.NoError(t, err)
	leaving.Wait(t, 1)

	entering := proxy.On(adopting, pgproxy.CutAfter)
	moved, unlock, err := c.Lock("a").Import(within(t), token)
	require.NoError(t, err)
	entering.Wait(t, 1)
	again, err := c.Lock("a").Held(moved)
	require.NoError(t, err)
	require.Equal(t, hold.Fence, again.Fence)
	_, _, err = c.Lock("a").Import(within(t), token)
	require.ErrorIs(t, err, lock.ErrNotHeld)
	require.NoError(t, unlock())
	require.Equal(t, "f|f|f", row(t, of, "a"))
}

// What is done once the lock is free for the first of a name is done once, whatever is lost.
func TestARowThatIsMadeThoughTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	proxy, of, c := proxied(t, pglock.Options{Lease: 6 * time.Second})
	warm(t, c)
	for _, text := range []string{"INSERT INTO", readying} {
		rule := proxy.On(text, pgproxy.CutAfter)
		taken(t, c.Lock(text))
		if text != readying { // which is asked once
			rule.Wait(t, 1)
		}
	}
	other := client(t, pool(t, proxy.To(of)), pglock.Options{Lease: 6 * time.Second})
	_, unlock, err := other.Lock("b").TryLock(within(t))
	require.NoError(t, errors.Join(err, unlock()), "its first question gets no answer")
}

// What a connection says of the table before something is taken by it is lost. Nothing was taken yet, so another
// connection is asked, and the call goes on.
func TestAProofWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, action := range lost {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprint(way, ", first call ", first), func(t *testing.T) {
				t.Parallel()
				var losses atomic.Int64
				proxy, of, c := proxied(t, pglock.Options{Lease: 9 * time.Second, Observer: counting(&losses)})
				if !first {
					warm(t, c, "a")
					psql(t, of, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
						"WHERE pid <> pg_backend_pid() AND datname = current_database()")
				}
				proof := proxy.On("has_table_privilege", action)
				_, unlock := take(t, within(t), c.Lock("a"))
				proof.Wait(t, 1)
				require.Equal(t, "t|t|f", row(t, of, "a"))
				require.NoError(t, unlock())
				require.Equal(t, "f|f|f", row(t, of, "a"))
				require.Zero(t, losses.Load())
			})
		}
	}
}

// A connection that is made beside others is asked whether it leads to the same table, and the answer is lost. Nothing
// was taken by it yet, so another one is asked.
func TestARecognitionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for way, action := range lost {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var losses atomic.Int64
			proxy, of, c := proxied(t, pglock.Options{Lease: 9 * time.Second, Observer: counting(&losses)})
			warm(t, c, "a")
			recognition := proxy.On("LEFT JOIN pg_class AS t ON t.oid = to_regclass", action)
			eventually(t, func() bool { // on a busy machine one connection may serve all of them, one after the other
				busied(t, c)
				return recognition.Fired() > 0
			}, "a connection is made")
			for _, name := range []string{"b1", "b2", "b3", "b4"} {
				require.Equal(t, "f|f|f", row(t, of, name))
			}
			require.Zero(t, losses.Load())
		})
	}
}
