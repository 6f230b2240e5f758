package rwlock_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// leftLab is a writer that holds, and one of the same client that stands in the queue behind it.
type leftLab struct {
	t      *testing.T
	lock   *rwlock.Lock
	unlock func() error
	leave  context.CancelFunc
	left   chan error // what came of the one in the queue
}

func newLeftLab(t *testing.T, client *rlock.Client) *leftLab {
	t.Helper()
	l := &leftLab{t: t, lock: rwlock.New(client, redistest.Key(t)), left: make(chan error, 1)}
	_, unlock, err := l.lock.Write().Lock(t.Context())
	require.NoError(t, err)
	l.unlock = unlock
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	l.leave = leave
	waiting := make(chan struct{})
	defer crash.Set(func(at crash.Point) error {
		if at == crash.Enqueue {
			close(waiting)
		}
		return nil
	})()
	go func() {
		_, unlock, err := l.lock.Write().Lock(ctx)
		if err == nil {
			err = unlock()
		}
		l.left <- err
	}()
	select {
	case <-waiting:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody waits")
	}
	redistest.Eventually(t, 30*time.Second, func() bool {
		info, err := l.lock.Write().Inspect(t.Context())
		return err == nil && info.Waiters == 1
	}, "it stands in the queue")
	return l
}

// during has the one in the queue leave when the first release before it has reached a point, at which all fail with
// err.
func (l *leftLab) during(point crash.Point, err error) {
	l.t.Helper()
	var once sync.Once
	undo := crash.Set(func(at crash.Point) error {
		if at != point {
			return nil
		}
		once.Do(func() {
			l.leave()
			require.ErrorIs(l.t, <-l.left, context.Canceled)
			for range 100 { // the ledger has the time to clean up after it
				_, _ = l.lock.Write().Inspect(context.Background())
			}
		})
		return err
	})
	defer undo()
	if unlocked := l.unlock(); err == nil {
		require.NoError(l.t, unlocked)
	}
}

// defect A4: a writer leaves the line while the lock is released before it. Whatever becomes of the release, nothing
// was lost by anybody, nobody is told of a loss, and the lock is free.
//
// defect F29: the release is held up while the writer leaves, so a command has plenty of time. Only a release that no
// request gets through for is given up soon.
func TestAWriterThatLeavesDuringTheReleaseBeforeItLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		at  crash.Point
		err error
	}{
		"before it is sent":    {crash.Release.Send, nil},
		"before it is known":   {crash.Release.Reply, nil},
		"its reply is lost":    {crash.Release.Reply, errors.New("the reply is lost")},
		"it is never sent":     {crash.Release.Send, errors.New("the request is lost")},
		"and another is there": {crash.Release.Reply, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var lost atomic.Int64
			patience := 30 * time.Second
			if c.err != nil {
				patience = time.Second
			}
			client, err := rlock.NewClient(redistest.Shared(t).Client(t), &rlock.ClientOptions{
				Lease: time.Minute, ReleaseTimeout: patience,
				Logger:   slog.New(slog.DiscardHandler),
				Observer: &rlock.Observer{Lost: func(*rlock.LostError) { lost.Add(1) }},
			})
			require.NoError(t, err)
			l := newLeftLab(t, client)
			next := make(chan error, 1)
			if name == "and another is there" {
				go func() {
					next <- l.lock.Write().Do(context.Background(), func(context.Context) error { return nil })
				}()
				redistest.Eventually(t, 30*time.Second, func() bool {
					info, err := l.lock.Write().Inspect(t.Context())
					return err == nil && info.Waiters == 2
				}, "it stands in the queue")
			} else {
				next <- nil
			}
			l.during(c.at, c.err)
			require.NoError(t, <-next)
			require.NoError(t, l.lock.Write().Do(t.Context(), func(context.Context) error { return nil }))
			require.NoError(t, client.Close())
			require.Zero(t, lost.Load(), "losses that were none")
		})
	}
}
