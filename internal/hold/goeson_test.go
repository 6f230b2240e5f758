package hold_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// slowEnd is a hold that ends while one of its contexts, slow, takes as long as the test wants: much was derived from it.
// Meanwhile nobody else may hold, neither in its process nor elsewhere.
type slowEnd struct {
	t           *testing.T
	mine, other *rlock.Client
	next        *rlock.Client // that of a caller which waits
	writes      bool          // it waits for readers
	slow        context.Context
	calls       sync.WaitGroup // that go on while slow ends
}

// slowEnds are the ways in which a hold may end while a context of it still lives.
var slowEnds = map[string]func(s *slowEnd){
	"two levels unlocked at once": func(s *slowEnd) {
		outer, unlockOuter := s.lock("k")
		_, unlockInner, err := rlock.New(s.mine, "k").Lock(context.WithoutCancel(outer))
		require.NoError(s.t, err)
		s.goes(unlockOuter)
		require.NoError(s.t, unlockInner())
	},
	"two levels unlocked at once, the last one inside": func(s *slowEnd) {
		outer, unlockOuter, err := rlock.New(s.mine, "k").Lock(context.Background())
		require.NoError(s.t, err)
		inner, unlockInner, err := rlock.New(s.mine, "k").Lock(context.WithoutCancel(outer))
		require.NoError(s.t, err)
		s.slowly(inner)
		s.goes(unlockInner)
		require.NoError(s.t, unlockOuter())
	},
	"a break during an unlock": func(s *slowEnd) {
		_, unlock := s.lock("k")
		s.goes(unlock)
		s.goes(func() error { _ = rlock.New(s.mine, "k").Break(context.Background()); return nil })
	},
	"an unlock during a break": func(s *slowEnd) {
		_, unlock := s.lock("k")
		s.goes(func() error { return rlock.New(s.mine, "k").Break(context.Background()) })
		s.goes(func() error { _ = unlock(); return nil })
	},
	"two breaks": func(s *slowEnd) {
		s.lock("k")
		s.goes(func() error { return rlock.New(s.mine, "k").Break(context.Background()) })
		s.goes(func() error { _ = rlock.New(s.mine, "k").Break(context.Background()); return nil })
	},
	"a break during an unlock of a hold that was lost": func(s *slowEnd) {
		_, unlock := s.lock("k", rlock.MaxHold(time.Second))
		time.Sleep(time.Second)
		synctest.Wait()
		s.goes(func() error { _ = unlock(); return nil })
		s.goes(func() error { _ = rlock.New(s.mine, "k").Break(context.Background()); return nil })
	},
	"Close during an unlock": func(s *slowEnd) {
		_, unlock := s.lock("k")
		s.goes(unlock)
		s.goes(func() error { _ = s.mine.Close(); return nil })
	},
	"Close during a break": func(s *slowEnd) {
		s.lock("k")
		s.goes(func() error { _ = rlock.New(s.mine, "k").Break(context.Background()); return nil })
		s.goes(func() error { _ = s.mine.Close(); return nil })
	},
	"a break during an export": func(s *slowEnd) {
		held, _ := s.lock("k")
		s.goes(func() error { _, _ = rlock.New(s.mine, "k").Export(held); return nil })
		s.goes(func() error { _ = rlock.New(s.mine, "k").Break(context.Background()); return nil })
	},
	"an unlock of an outer level during an export": func(s *slowEnd) {
		outer, unlockOuter := s.lock("k")
		inner, _, err := rlock.New(s.mine, "k").Lock(context.WithoutCancel(outer))
		require.NoError(s.t, err)
		s.goes(unlockOuter)
		s.goes(func() error {
			token, err := rlock.New(s.mine, "k").Export(inner)
			if err != nil {
				return err
			}
			require.Error(s.t, outer.Err())
			_, unlock, err := rlock.New(s.other, "k").Import(context.Background(), token)
			if err != nil {
				return err
			}
			return unlock()
		})
	},
	"the longest hold of one reader": func(s *slowEnd) {
		reader, unlock, err := rwlock.New(s.mine, "k").Read().Lock(context.Background())
		require.NoError(s.t, err)
		limited, _, err := rwlock.New(s.mine, "k", rlock.MaxHold(10*time.Millisecond)).Read().Lock(context.Background())
		require.NoError(s.t, err)
		s.writes = true
		s.slowly(limited)
		same, err := rwlock.New(s.mine, "k").Read().Held(reader)
		require.NoError(s.t, err)
		joined, err := rwlock.New(s.mine, "k").Read().Held(limited)
		require.NoError(s.t, err)
		require.Equal(s.t, same.ID, joined.ID, "it has joined")
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		require.NoError(s.t, unlock())
	},
}

// goes has a call go on for as long as it has to wait.
func (s *slowEnd) goes(call func() error) {
	s.calls.Go(func() {
		if err := call(); err != nil {
			s.t.Error(err)
		}
	})
	synctest.Wait()
}

// lock is a hold whose context ends slowly.
func (s *slowEnd) lock(name string, opts ...rlock.Option) (context.Context, func() error) {
	held, unlock := enderLock(s.t, s.mine, name, opts...)
	s.slowly(held)
	_, err := rlock.New(s.mine, name).Held(held) // which takes the mutex that orders OnEnd before a timer's end
	require.NoError(s.t, err)
	return held, unlock
}

// like is another lock at the name, which excludes that of the test.
func (s *slowEnd) like(client *rlock.Client) lock.Locker {
	if s.writes {
		return rwlock.New(client, "k").Write()
	}
	return rlock.New(client, "k")
}

// slowly has a context end slowly, and another caller wait for the lock.
func (s *slowEnd) slowly(ctx context.Context) {
	s.slow = ctx
	s.goes(func() error {
		_, unlock, err := s.like(s.next).Lock(context.Background())
		if errors.Is(err, lock.ErrClosed) {
			return nil
		}
		if ctx.Err() == nil {
			s.t.Error("the next caller holds while a context of the hold before still lives")
		}
		return errors.Join(err, unlock())
	})
	hold.OnEnd(ctx, func(end func()) {
		time.Sleep(500 * time.Millisecond) // in virtual time, and much less than a lease
		end()
	})
}

// Defect G40: the next caller held while contexts of the hold before still lived, because the grant went on with the
// level that was unlocked last and not with the one whose context ended last; and of several that ended a grant at once
// only the first ended its contexts, while the others went on.
func TestNobodyHoldsWhileAContextOfTheHoldBeforeLives(t *testing.T) {
	for how, ends := range slowEnds {
		for _, waits := range []string{"in its process", "elsewhere"} {
			t.Run(how+", a waiter "+waits, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { nobodyHoldsMeanwhile(t, ends, waits == "elsewhere") })
			})
		}
	}
}

func nobodyHoldsMeanwhile(t *testing.T, ends func(s *slowEnd), elsewhere bool) {
	sim := simredis.New(t)
	s := &slowEnd{t: t}
	for _, c := range []**rlock.Client{&s.mine, &s.other} {
		client, err := rlock.NewClient(sim.Client(), &rlock.ClientOptions{
			Lease: 3 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		*c = client
		defer func() { _ = client.Close() }()
	}
	s.next = s.mine
	if elsewhere {
		s.next = s.other
	}
	ends(s)
	free := false
	for range 400 { // an export or a closed client may leave it to the lease
		_, unlock, err := s.like(s.other).TryLock(context.Background())
		if free = err == nil; free {
			if s.slow.Err() == nil {
				t.Error("another client holds while a context of the hold before still lives")
			}
			_ = unlock()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.calls.Wait()
	require.Error(t, s.slow.Err())
	require.True(t, free)
}
