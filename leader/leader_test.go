package leader_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// kinds are the locks that tell others who leads.
var kinds = map[string]func(client *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock{
	"rlock": rlock.New, "fairlock": fairlock.New,
}

// candidates are three processes.
func candidates(lab *holdfasttest.Lab, of func(*rlock.Client, string, ...rlock.Option) *rlock.Lock) (
	clients [3]*rlock.Client, elections [3]*leader.Election,
) {
	for i, address := range []string{"a:1", "b:1", "c:1"} {
		clients[i] = lab.Client(nil)
		elections[i] = leader.New(of(clients[i], "leader"), leader.Value(address))
	}
	return clients, elections
}

func current(t *testing.T, e *leader.Election) leader.Leader {
	t.Helper()
	now, err := e.Current(t.Context())
	require.NoError(t, err)
	return now
}

// One leads after the other; everybody sees who, and the terms grow.
func TestTermsFollowOneAnother(t *testing.T) {
	for kind, of := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, all := candidates(holdfasttest.New(t), of)
				_, err := all[0].Current(t.Context())
				require.ErrorIs(t, err, leader.ErrNoLeader)
				var last leader.Leader
				for i, e := range all {
					term, resign, err := e.Campaign(t.Context())
					require.NoError(t, err)
					hold, err := e.Term(term)
					require.NoError(t, err)
					for _, other := range all {
						require.Equal(t, current(t, other), current(t, e))
					}
					now := current(t, e)
					require.Equal(t, []string{"a:1", "b:1", "c:1"}[i], now.Value)
					require.Equal(t, hold.Fence, now.Term)
					require.Greater(t, now.Term, last.Term)
					require.False(t, now.Since.Before(last.Since))

					time.Sleep(time.Minute)
					require.NoError(t, e.Proclaim(term, "elsewhere"))
					require.Equal(t, leader.Leader{Value: "elsewhere", Term: now.Term, Since: now.Since}, current(t, all[0]))
					last = now
					require.NoError(t, resign())
					require.ErrorIs(t, context.Cause(term), rlock.ErrReleased)
					require.ErrorIs(t, resign(), rlock.ErrNotHeld)
					require.ErrorIs(t, e.Proclaim(term, "too late"), rlock.ErrNotHeld)
					_, err = e.Current(t.Context())
					require.ErrorIs(t, err, leader.ErrNoLeader)
				}
			})
		})
	}
}

// What a leader said ends with its term, however that ends: the next leader of the same process, who says nothing, has
// nothing said of it, and a lock that is kept has no leader.
func TestWhatALeaderSaidEndsWithItsTerm(t *testing.T) {
	for kind, of := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab := holdfasttest.New(t)
				client := lab.Client(nil)
				other := leader.New(of(lab.Client(nil), "leader"))
				ctx, stop := context.WithCancel(t.Context())
				_, resign, err := leader.New(of(client, "leader"), leader.Value("a:1")).Campaign(ctx)
				require.NoError(t, err)
				next := make(chan func() error)
				go func() {
					_, resign, err := leader.New(of(client, "leader")).Campaign(t.Context())
					assert.NoError(t, err)
					next <- resign
				}()
				synctest.Wait()
				stop() // as the context of Run ends
				require.NoError(t, resign())
				resignNext := <-next
				require.Empty(t, current(t, other).Value)
				require.NoError(t, resignNext())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		kept := leader.New(rlock.New(lab.Client(nil), "leader", rlock.Keep(time.Second)), leader.Value("a:1"))
		ctx, stop := context.WithCancel(t.Context())
		_, resign, err := kept.Campaign(ctx)
		require.NoError(t, err)
		stop()
		require.NoError(t, resign())
		_, err = leader.New(rlock.New(lab.Client(nil), "leader")).Current(t.Context())
		require.ErrorIs(t, err, leader.ErrNoLeader)
	})
}

// A leader whose server is frozen for longer than its lease stops before anybody else can lead; and when it runs again
// it cannot write over what its successor said.
func TestALeaderIsToldBeforeItsLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		_, all := candidates(lab, rlock.New)
		term, resign, err := all[0].Campaign(t.Context())
		require.NoError(t, err)
		lab.Freeze()
		<-term.Done()
		require.ErrorIs(t, context.Cause(term), rlock.ErrLost)
		lab.Thaw()
		next, resignNext, err := all[1].Campaign(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, all[0].Proclaim(term, "I lead"), rlock.ErrLost)
		require.Equal(t, "b:1", current(t, all[2]).Value)
		require.ErrorIs(t, resign(), rlock.ErrLost)
		require.NoError(t, next.Err())
		require.Equal(t, "b:1", current(t, all[2]).Value)
		require.NoError(t, resignNext())
	})
}

// Run leads again after a loss, and ends with ctx, or with fn.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		_, all := candidates(lab, rlock.New)
		ctx, stop := context.WithCancel(t.Context())
		terms, done := make(chan int64, 10), make(chan error)
		go func() {
			done <- all[0].Run(ctx, func(term context.Context) error {
				hold, err := all[0].Term(term)
				terms <- hold.Fence
				<-term.Done()
				return err
			})
		}()
		first := <-terms
		lab.Lose("leader", rlock.LossGone)
		require.Greater(t, <-terms, first)
		stop()
		require.ErrorIs(t, <-done, context.Canceled)

		enough := errors.New("enough")
		require.ErrorIs(t, all[1].Run(t.Context(), func(context.Context) error { return enough }), enough)
		require.NoError(t, all[1].Run(t.Context(), func(context.Context) error { return nil }))
		require.Panics(t, func() {
			_ = all[1].Run(t.Context(), func(context.Context) error { panic("fn") })
		})
		_, err := all[2].Current(t.Context())
		require.ErrorIs(t, err, leader.ErrNoLeader, "resigned, whatever fn did")
	})
}

func TestRunOfAClosedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients, all := candidates(holdfasttest.New(t), rlock.New)
		require.NoError(t, clients[0].Close())
		require.ErrorIs(t, all[0].Run(t.Context(), func(context.Context) error { return nil }), rlock.ErrClosed)
	})
}

// Each change is seen once, and the loop ends with ctx or when it is left.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all := candidates(holdfasttest.New(t), rlock.New)
		ctx, stop := context.WithCancel(t.Context())
		seen := make(chan string, 10)
		go func() {
			defer close(seen)
			for now, err := range all[2].Observe(ctx) {
				if errors.Is(err, leader.ErrNoLeader) {
					now.Value = "nobody"
				}
				seen <- now.Value
			}
		}()
		require.Equal(t, "nobody", <-seen)
		for _, e := range all[:2] {
			term, resign, err := e.Campaign(t.Context())
			require.NoError(t, err)
			require.Equal(t, current(t, e).Value, <-seen)
			require.NoError(t, e.Proclaim(term, "x"))
			require.Equal(t, "x", <-seen)
			time.Sleep(10 * time.Minute)
			require.NoError(t, resign())
			require.Equal(t, "nobody", <-seen)
		}
		stop()
		_, open := <-seen
		require.False(t, open)
		for range all[2].Observe(t.Context()) {
			break
		}
	})
}

// A lock over which nobody can be told elects all the same.
func TestLocksThatTellNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := holdfasttest.New(t).Client(nil)
		e := leader.New(rwlock.New(client, "leader").Write())
		term, resign, err := e.Campaign(t.Context())
		require.NoError(t, err)
		require.NoError(t, term.Err())
		var bad *rlock.ArgumentError
		_, err = e.Current(t.Context())
		require.ErrorAs(t, err, &bad)
		require.ErrorAs(t, e.Proclaim(term, "x"), &bad)
		require.NoError(t, resign())
		_, _, err = leader.New(rwlock.New(client, "leader").Write(), leader.Value("x")).Campaign(t.Context())
		require.ErrorAs(t, err, &bad)
		_, _, err = leader.New(nil).Campaign(t.Context())
		require.ErrorAs(t, err, &bad)
	})
}
