package crashpoints_test

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lock"
)

// rivalLease is so long that its end does not wake a waiter behind the rival.
const rivalLease = 6 * time.Second

// rival is another client, with connections of its own, that contends for the lock.
type rival struct {
	who    string
	lock   *lock.Lock
	first  *staying // of before the strike
	finish chan struct{}
	runner sync.WaitGroup
	close  func() error // ends the contention, and the client; may be called more than once

	mu    sync.Mutex // guards all below
	ids   int
	stays map[int]stay
	words map[string]int // the outcomes of its calls
	last  time.Duration  // when it last got the lock
}

func (l *lab) newRival(who string) *rival {
	l.t.Helper()
	store, err := l.site.dial(l.server.addr())
	require.NoError(l.t, err)
	client, err := store.client(rivalLease)
	require.NoError(l.t, err)
	r := &rival{
		who: who, lock: client.Lock(lockName), finish: make(chan struct{}),
		stays: make(map[int]stay), words: make(map[string]int),
	}
	r.close = sync.OnceValue(func() error {
		close(r.finish)
		r.runner.Wait()
		defer store.hangUp()
		return client.Close()
	})
	l.t.Cleanup(func() { _ = r.close() })
	return r
}

// enter locks, for patience at most.
func (r *rival) enter(ctx context.Context, patience time.Duration) (*staying, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() { cancel(context.Canceled) })
	st := &staying{lock: r.lock}
	var err error
	st.held, st.unlock, err = r.lock.Lock(ctx)
	if !timer.Stop() && err == nil { // otherwise the context would end with the stay
		cancel(nil)
		return nil, st.unlock()
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	unlock := st.unlock
	st.unlock = func() error {
		defer cancel(nil)
		return unlock()
	}
	r.mu.Lock()
	r.ids++
	st.Who, st.ID = r.who, r.ids
	r.mu.Unlock()
	st.tell = func(state stay) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stays[state.ID] = state
		r.last = max(r.last, state.From)
	}
	if st.begin() == nil {
		return nil, unlock()
	}
	return st, nil
}

// contend locks and unlocks until the rival is closed.
func (r *rival) contend() {
	r.runner.Go(func() {
		if r.first != nil {
			r.first.leave()
			r.count(r.first.unlock())
		}
		for {
			st, err := r.enter(context.Background(), 200*time.Millisecond)
			if st != nil {
				time.Sleep(3 * time.Millisecond) // so that another holder would show
				st.leave()
				err = st.unlock()
			}
			r.count(err)
			select {
			case <-r.finish:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
}

func (r *rival) count(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := word(err)
	if w == "alien" {
		w += ": " + err.Error()
	}
	r.words[w]++
}

// since reports whether the rival got the lock after at.
func (r *rival) since(at time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last > at
}
