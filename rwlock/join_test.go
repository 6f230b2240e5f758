package rwlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// R6: a reader that comes while others of its process read has a hold at once, for which nothing is sent, with a
// context of its own; so does its unlock, unless it is the last. For Redis it is one reader with one level.
func TestAReaderJoinsWithoutARequest(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a, b := l.near(rlock.ClientOptions{}), l.near(rlock.ClientOptions{})
		w := a.write()
		fence := w.known(t).Fence
		w.frees(t)
		holds := l.readers(a, 3)
		before := l.runs()
		ctx, unlock, err := a.Read().Lock(t.Context())
		require.NoError(t, err)
		holds = append(holds, hold{a.Read(), ctx, unlock, nil})
		id := holds[0].known(t).ID
		for _, h := range holds {
			known := h.known(t)
			require.Equal(t, 1, known.Count)
			require.Equal(t, id, known.ID)
			require.Equal(t, fence, known.Fence)
		}
		require.Equal(t, before, l.runs())
		require.Equal(t, map[string]string{"mode": "read", id: "1"}, l.hash())
		for len(holds) > 1 {
			holds[0].frees(t)
			require.ErrorIs(t, holds[0].unlock(), rlock.ErrNotHeld, "it was unlocked")
			holds = holds[1:]
			require.Equal(t, before, l.runs())
			require.Equal(t, map[string]string{"mode": "read", id: "1"}, l.hash())
			require.Positive(t, l.rdb.PTTL(t.Context(), l.holdKey(id, "1")).Val(), "Java sees that it lives")
			for _, h := range holds {
				h.known(t)
			}
		}
		b.busy(b.Write())
		before = l.runs()
		holds[0].frees(t)
		require.ErrorIs(t, holds[0].unlock(), rlock.ErrNotHeld)
		require.Equal(t, before+1, l.runs())
		b.write().frees(t)
		l.clean()
	})
}

// A reader that has joined and whose Lock has not returned yet is in: the others may leave, and another one joins it.
func TestAReaderWhoseLockIsUnderWayIsJoined(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		joined, goOn := make(chan struct{}), make(chan struct{})
		var helds atomic.Int32
		client, err := rlock.NewClient(l.sim.Client(), &rlock.ClientOptions{Observer: &rlock.Observer{
			Held: func(context.Context, rlock.Call) context.Context {
				if helds.Add(1) == 2 {
					close(joined)
					<-goOn
				}
				return nil
			},
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		read := rwlock.New(client, l.name).Read()
		_, unlock, err := read.Lock(t.Context())
		require.NoError(t, err)
		asked := l.runs("rw_read")
		returned := make(chan error, 1)
		go func() {
			_, unlock, err := read.Lock(t.Context())
			if err == nil {
				err = unlock()
			}
			returned <- err
		}()
		<-joined
		require.NoError(t, unlock())
		_, unlock, err = read.Lock(t.Context())
		require.NoError(t, err)
		require.Equal(t, asked, l.runs("rw_read"), "it joins the one that is under way")
		close(goOn)
		require.NoError(t, <-returned)
		require.NoError(t, unlock())
		require.Equal(t, 1, l.releases())
		l.ends()
	})
}

// R6: the acquiring script said that no writer waits. That is gone by for the time of a run, and no longer: a renewal
// does not look at the gate.
func TestAGrantIsJoinedForTheTimeOfARun(t *testing.T) {
	t.Parallel()
	for trip, joined := range map[time.Duration]time.Duration{
		0: joinTime, ms: joinTime, 5 * ms: 20 * ms, 12 * ms: 48 * ms, 30 * ms: 50 * ms,
	} {
		t.Run(trip.String(), func(t *testing.T) {
			t.Parallel()
			inJoinLab(t, func(t *testing.T, l *joinLab) {
				a := l.far(trip, rlock.ClientOptions{Lease: time.Second})
				sent := time.Now()
				first := a.read()
				time.Sleep(time.Until(sent.Add(joined - time.Microsecond)))
				second := a.read()
				require.Equal(t, first.known(t).ID, second.known(t).ID)
				time.Sleep(time.Microsecond)
				third := a.read()
				require.NotEqual(t, first.known(t).ID, third.known(t).ID)
				fourth := a.read()
				require.Equal(t, third.known(t).ID, fourth.known(t).ID, "the newest one is joined")
				a.renewals(4)
				fifth := a.read()
				require.NotContains(t, []string{first.known(t).ID, third.known(t).ID}, fifth.known(t).ID)
				require.Len(t, l.hash(), 4)
				for _, h := range []hold{third, first, fifth, second, fourth} {
					h.frees(t)
				}
				l.clean()
			})
		})
	}
}

const ms = time.Millisecond

// R6, R3: what Redis would not have granted the same is granted by Redis. The last reader, who wants nothing special
// joins in some of the cases, which shows that it was not too late.
func TestWhatIsNotJoined(t *testing.T) {
	t.Parallel()
	fixed := func(p *peer, lease time.Duration) *rlock.Lock {
		return rwlock.New(p.client, p.name, rlock.FixedLease(lease)).Read()
	}
	for name, take := range map[string]func(l *joinLab, a, b *peer) (holds []hold){
		"one that nobody renews does not join": func(l *joinLab, a, _ *peer) []hold {
			return []hold{a.read(), a.take(fixed(a, never), context.Background())}
		},
		"one that nobody renews is not joined": func(l *joinLab, a, _ *peer) []hold {
			return []hold{a.take(fixed(a, never), context.Background()), a.read()}
		},
		"another lease was asked for": func(l *joinLab, a, _ *peer) []hold {
			longer := rwlock.New(a.client, a.name, rlock.Lease(2*never)).Read()
			return []hold{a.read(), a.take(longer, context.Background())}
		},
		"inside a write hold": func(l *joinLab, a, _ *peer) []hold {
			w := a.write()
			first, second := a.take(a.Read(), context.WithoutCancel(w.ctx)), a.take(a.Read(), context.WithoutCancel(w.ctx))
			w.frees(l)
			return []hold{first, second, a.read()}
		},
		"an imported one": func(l *joinLab, a, b *peer) []hold {
			token, err := b.Read().Export(b.read().ctx)
			require.NoError(l, err)
			ctx, unlock, err := a.Read().Import(l.Context(), token)
			require.NoError(l, err)
			return []hold{{a.Read(), ctx, unlock, nil}, a.read()}
		},
		"of another client": func(l *joinLab, a, b *peer) []hold { return []hold{a.read(), b.read()} },
		"it is half over, and the renewal is not answered": func(l *joinLab, _, _ *peer) []hold {
			a := l.near(rlock.ClientOptions{Lease: 100 * ms})
			a.write().frees(l)
			sent := time.Now()
			l.suffers("rw_read", simredis.Delay(12*ms))
			first := a.read()
			l.suffers("rw_read_renew", simredis.Delay(20*ms))
			time.Sleep(time.Until(sent.Add(40 * ms)))
			second := a.read()
			l.heals()
			return []hold{first, second}
		},
		"there are many": func(l *joinLab, a, _ *peer) []hold {
			all := l.readers(a, 64)
			for _, h := range all[1:] {
				defer h.frees(l)
			}
			other := a.read()
			return []hold{all[0], other}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inJoinLab(t, func(t *testing.T, l *joinLab) {
				holds := take(l, l.near(rlock.ClientOptions{}), l.near(rlock.ClientOptions{}))
				ids := make(map[string]bool)
				for _, h := range holds {
					ids[h.known(t).ID] = true
				}
				require.Len(t, ids, len(holds), "each has its own")
				require.Len(t, l.hash(), len(holds)+1)
				for _, h := range holds {
					h.frees(t)
				}
				l.near(rlock.ClientOptions{}).write().frees(t)
			})
		})
	}
}
