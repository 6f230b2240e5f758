package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
)

// connections are the cases of what becomes of a client whose store is well, and whose connections are not.
var connections = []contract{
	{"AHoldNeedsNoNewConnection", Faults, needsNoNewConnection},
}

// forgotten are the cases of connections that lose everything without a word, while calls have a long time.
var forgotten = []contract{
	{"ForgottenConnectionsCostNoCall", Faults, forgottenCostNoCall},
}

// remembered are those of holds that are renewed meanwhile.
var remembered = []contract{
	{"AHoldOutlivesForgottenConnections", Faults, outlivesForgotten},
}

// steady is the lease of a case in which a renewal finds its connection forgotten: there is time for two requests.
const steady = 9 * time.Second

// What safety needs is there when Lock returns: a hold is renewed, and released, over the connections that the client
// has by then. New ones are refused, as they are where the server has no places left, or the process no descriptors. A
// client that needs a new one all the same makes room for it.
func needsNoNewConnection(t *testing.T, lab Lab) {
	n, path := name(t), lab.Path(0)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	if lab.Lacks&Standing == 0 {
		path.Refuse(true)
	} else {
		path.Full(true)
	}
	had := path.Open()
	_, _, err := lab.Lock(1, n, lock.MaxWait(lab.Lease+lab.Lease/6)).Lock(within(t))
	only(t, err, lock.ErrBusy)
	require.NoError(t, held.Err(), "%v", context.Cause(held))
	require.True(t, path.Open() <= had, "nobody gets a connection")
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
	free(t, lab.Lock(0, n))
}

// warm leaves a client with connections that are idle: several callers had a lock each, and have none now.
func warm(t *testing.T, lab Lab, client int) {
	t.Helper()
	var all sync.WaitGroup
	for range 8 {
		n := name(t)
		all.Go(func() {
			for range 3 {
				if err := lab.Lock(client, n).Do(within(t), func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// A balancer forgets connections, and tells neither side. Silence is held against the connection that brought it, so
// each call is sent again by a new one within its own time, whichever connection it had first.
func forgottenCostNoCall(t *testing.T, lab Lab) {
	path := lab.Path(0)
	for _, c := range []struct {
		what string
		opts []lock.Option
		call func(l Lock) (context.Context, func() error, error)
	}{
		{"TryLock", nil, func(l Lock) (context.Context, func() error, error) { return l.TryLock(within(t)) }},
		{"Lock", []lock.Option{lock.MaxWait(request)},
			func(l Lock) (context.Context, func() error, error) { return l.Lock(within(t)) }},
	} {
		n := name(t)
		warm(t, lab, 0)
		require.True(t, path.Forget() > 0, "there are connections")
		for range 4 {
			_, unlock, err := c.call(lab.Lock(0, n, c.opts...))
			require.NoError(t, err, c.what)
			require.NoError(t, unlock(), c.what)
		}
		warm(t, lab, 0)
		_, unlock, err := c.call(lab.Lock(0, n, c.opts...))
		require.NoError(t, err, c.what)
		require.True(t, path.Forget() > 0, "there are connections")
		require.NoError(t, unlock(), "its unlock, after "+c.what)
	}
}

// So it is with renewals.
func outlivesForgotten(t *testing.T, lab Lab) {
	n, path := name(t), lab.Path(0)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	warm(t, lab, 0)
	require.True(t, path.Forget() > 0, "there are connections")
	_, _, err := lab.Lock(1, n, lock.MaxWait(lab.Lease+lab.Lease/6)).Lock(within(t))
	only(t, err, lock.ErrBusy)
	require.NoError(t, held.Err(), "%v", context.Cause(held))
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// never are the cases of a store that was never reached. Their lease is long, so what bounds a call is its own limit.
var never = []contract{
	{"AStoreThatNeverAnsweredHoldsNobodyUp", Faults, neverAnswered((*netfault.Path).Silence)},
	{"AStoreThatWasNeverFoundHoldsNobodyUp", Faults, neverAnswered((*netfault.Path).Hang)},
}

// request is how long a request may take with the lease of these cases: see Lock.TryLock.
const request = 3 * time.Second

// Each call ends by its own limit, and Close has nothing to wait for, as nothing was ever sent. A call may take twice
// its limit here, and a second: the machine may be busy. Without a limit these calls took ten times as long.
func neverAnswered(away func(*netfault.Path, bool)) func(t *testing.T, lab Lab) {
	return func(t *testing.T, lab Lab) {
		away(lab.Path(0), true)
		n, short := name(t), 300*time.Millisecond
		var all sync.WaitGroup
		ends := func(what string, limit time.Duration, call func() error) {
			began := time.Now()
			err := call()
			if took := time.Since(began); err == nil || took > 2*limit+time.Second {
				t.Errorf("%s: %v after %v", what, err, took)
			}
		}
		for what, limited := range map[string]func(l Lock) error{
			"Lock with MaxWait": func(Lock) error {
				_, _, err := lab.Lock(0, n, lock.MaxWait(short)).Lock(within(t))
				return err
			},
			"Lock until a deadline": func(l Lock) error {
				ctx, cancel := context.WithTimeout(within(t), short)
				defer cancel()
				_, _, err := l.Lock(ctx)
				return err
			},
		} {
			all.Go(func() { ends(what, short, func() error { return limited(lab.Lock(0, n)) }) })
		}
		for range 4 {
			l := lab.Lock(0, unique(n))
			all.Go(func() {
				ends("TryLock", request, func() error {
					_, _, err := l.TryLock(within(t))
					return err
				})
			})
		}
		all.Wait()
		began := time.Now()
		_ = lab.Close(0)
		const most = releases - releases/10
		require.True(t, time.Since(began) < most, "Close took %v, with nothing held", time.Since(began))
		away(lab.Path(0), false)
		free(t, lab.Lock(1, n))
	}
}

// releases is how long Close may wait for releases by default.
const releases = 5 * time.Second
