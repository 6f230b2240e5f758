package fairlock_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/simredis"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	ms   = time.Millisecond
	trip = 10 * ms
)

// comeLab is a lock on a simulated Redis, in virtual time, with two processes a round trip away: a, of which a waiter
// has just been passed the lock, and another one.
type comeLab struct {
	*lab
	a, rival *peer
	has      hold   // a's
	id       string // of the grant that it is a turn of

	mu    sync.Mutex // guards all below
	sent  map[string]int
	fault simredis.Verdict // on registrations
}

func inComeLab(t *testing.T, test func(t *testing.T, l *comeLab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := simredis.New(t)
		l := &comeLab{lab: &lab{T: t, rdb: sim.Client(), name: "book"}, sent: make(map[string]int)}
		l.a, l.rival = l.far(sim), l.far(sim)
		first := l.rival.take()
		waiters := []<-chan hold{l.a.start(t.Context())}
		time.Sleep(4 * trip) // it asks for itself, and listens
		waiters = append(waiters, l.a.start(t.Context()))
		time.Sleep(4 * trip)
		sim.SetFault(l.decide)
		h := l.run(first, waiters...)
		l.id = h.known(t).ID
		time.Sleep(3 * trip) // it is confirmed, by a script that the server may have to be told
		h.frees(t)
		l.has = l.arrives(waiters[1])
		require.Equal(t, l.id, l.has.known(t).ID, "it was passed on")
		test(t, l)
		time.Sleep(time.Minute)
		l.clean()
	})
}

func (l *comeLab) far(sim *simredis.Server) *peer {
	rdb := redis.NewClient(sim.FarOptions(trip))
	l.Cleanup(func() { _ = rdb.Close() })
	p := l.peerOver(rdb, rlock.ClientOptions{MaxPoll: time.Second})
	var connects sync.WaitGroup
	for i := range 4 { // nobody waits for a connection
		connects.Go(func() {
			_, unlock, err := rlock.New(p.client, "other "+strconv.Itoa(i)).TryLock(l.Context())
			assert.NoError(l, err)
			assert.NoError(l, unlock())
		})
	}
	connects.Wait()
	h := p.take() // the server knows its scripts
	h.frees(l)
	return p
}

func (l *comeLab) decide(_ int, args []string) simredis.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(args) < 2 || !strings.EqualFold(args[0], "evalsha") {
		return simredis.Pass
	}
	l.sent[args[1]]++
	if args[1] == lua.SHA("fair_enqueue") {
		return l.fault
	}
	return simredis.Pass
}

func (l *comeLab) suffers(fault simredis.Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

// releases is how many were sent.
func (l *comeLab) releases() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[lua.SHA("fair_release")]
}

// comes has a waiter come, whose registration is under way when it returns.
func (p *peer) comes(ctx context.Context) <-chan hold {
	c := p.start(ctx)
	synctest.Wait()
	return c
}

// unlocks unlocks, and returns how long that took.
func (l *comeLab) unlocks() time.Duration {
	l.Helper()
	start := time.Now()
	l.has.frees(l)
	return time.Since(start)
}

// R7: an unlock that comes while the next waiter is being registered waits for the answer, and passes the lock on. That
// takes what is left of a round trip, and nothing is sent.
func TestTheRunGoesOnWhileTheNextIsRegistered(t *testing.T) {
	t.Parallel()
	inComeLab(t, func(t *testing.T, l *comeLab) {
		releases := l.releases()
		for range 3 {
			next := l.a.comes(t.Context())
			time.Sleep(trip / 2)
			require.Equal(t, trip/2, l.unlocks())
			l.has = l.arrives(next)
			require.Equal(t, l.id, l.has.known(t).ID)
		}
		require.Equal(t, releases, l.releases())
		require.Equal(t, trip, l.unlocks(), "nobody is there: it is released at once")
	})
}

// A registration that is not answered in time is not waited for any longer.
func TestALateRegistrationEndsTheRun(t *testing.T) {
	t.Parallel()
	inComeLab(t, func(t *testing.T, l *comeLab) {
		l.suffers(simredis.Delay(30 * trip))
		next := l.a.comes(t.Context())
		require.Less(t, l.unlocks(), 8*trip)
		l.suffers(simredis.Pass)
		l.arrives(next).frees(t)
	})
}

// One of another process that stands before the next gets the lock as soon as the answer says so.
func TestAnotherThatCameBeforeTheNextIsServed(t *testing.T) {
	t.Parallel()
	inComeLab(t, func(t *testing.T, l *comeLab) {
		foreign := l.rival.comes(t.Context())
		time.Sleep(2 * trip)
		next := l.a.comes(t.Context())
		require.Equal(t, 2*trip, l.unlocks(), "the answer, and the release")
		h := l.arrives(foreign)
		require.Empty(t, next)
		h.frees(t)
		l.arrives(next).frees(t)
	})
}

// The one that is waited for leaves: the next is served, or the lock is released.
func TestTheNextLeavesWhileItIsRegistered(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]bool{"another comes behind it": true, "it was the only one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inComeLab(t, func(t *testing.T, l *comeLab) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(trip/4, cancel)
				left := l.a.comes(ctx)
				var behind <-chan hold
				if another {
					behind = l.a.comes(t.Context())
				}
				took := l.unlocks()
				require.ErrorIs(t, l.ended(left), context.Canceled)
				if !another {
					require.Equal(t, trip/4+trip, took, "it was released at once")
					return
				}
				l.arrives(behind).frees(t)
			})
		})
	}
}

// Close ends the wait for a registration: the hold is released and not kept for the next.
func TestWhatIsNotKeptForTheNext(t *testing.T) {
	t.Parallel()
	inComeLab(t, func(t *testing.T, l *comeLab) {
		next := l.a.comes(t.Context())
		time.AfterFunc(trip/4, func() { _ = l.a.client.Close() })
		_ = l.has.unlock()
		require.ErrorIs(t, l.ended(next), rlock.ErrClosed)
		time.Sleep(time.Minute)
		l.rival.take().frees(t)
	})
}
