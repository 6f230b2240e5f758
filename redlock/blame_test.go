package redlock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// blamed are the nodes that an error names, wherever it wraps them.
func blamed(err error) (addrs []string) {
	switch e := err.(type) {
	case *redlock.NodeError:
		return []string{e.Addr}
	case interface{ Unwrap() error }:
		return blamed(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			addrs = append(addrs, blamed(err)...)
		}
	}
	return addrs
}

// silence has the nodes of a quorum answer nothing to a script. They are not the first ones.
func (l *lab) silence(script func(faultproxy.Request) bool) (silent []string) {
	for _, i := range []int{1, 3, 4} {
		l.proxies[i].On(script, faultproxy.DropRequest).Times(-1)
		silent = append(silent, l.proxies[i].Addr())
	}
	return silent
}

// defect D5: an error names the nodes that did not answer, and not as many of those that did.
func TestErrorsBlameTheNodesThatDidNotAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script  func(faultproxy.Request) bool
		failing func(l *lab, lock *rlock.Lock, silence func()) error
	}{
		"Inspect": {faultproxy.Script(luacall.SHA("inspect")), func(_ *lab, lock *rlock.Lock, silence func()) error {
			silence()
			_, err := lock.Inspect(within(t))
			return err
		}},
		"Break": {releases, func(l *lab, lock *rlock.Lock, silence func()) error {
			theirs := redlock.New(l.client(l.direct(), options(6*time.Second)), lock.Name())
			_, unlock := take(l.t, theirs)
			defer func() { require.NoError(l.t, unlock()) }()
			l.soonOn(lock.Name(), 0, 1, 2, 3, 4)
			silence()
			return lock.Break(within(l.t))
		}},
		"acquisition": {acquires, func(l *lab, lock *rlock.Lock, silence func()) error {
			silence()
			_, _, err := lock.TryLock(within(l.t))
			return err
		}},
		"acquisition with tokens that are not accepted": {acquires, func(l *lab, lock *rlock.Lock, silence func()) error {
			for _, s := range l.servers {
				ahead := time.Now().Add(time.Hour).UnixMicro()
				require.NoError(l.t, s.Client(l.t).Set(within(l.t), tokenKey(lock.Name()), ahead, 0).Err())
			}
			silence()
			_, _, err := lock.TryLock(within(l.t))
			return err
		}},
		"renewal": {renews, func(l *lab, lock *rlock.Lock, silence func()) error {
			_, unlock := take(l.t, lock)
			defer func() { _ = unlock() }()
			l.soonOn(lock.Name(), 0, 1, 2, 3, 4)
			silence()
			return l.events.failure(l.t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 5)
			o := options(12 * time.Second)
			o.NodeTimeout = 2 * time.Second // for those that answer
			lock := redlock.New(l.client(l.proxied(), o), "blame")
			once(t, lock)
			l.soonOn("blame")
			var silent []string
			err := test.failing(l, lock, func() { silent = l.silence(test.script) })
			require.ErrorContains(t, err, "no quorum: 2 of 5 nodes agreed")
			got := blamed(err)
			slices.Sort(got)
			slices.Sort(silent)
			require.Equal(t, silent, got, "%v", err)
		})
	}
}
