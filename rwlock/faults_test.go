package rwlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

const (
	faultyLease = 3 * time.Second

	// faultyGrace is longer than a command may take, and shorter than a lease: what is cleaned up within
	// it did not just expire.
	faultyGrace = faultyLease * 2 / 3
)

// path is a lock whose client is behind a proxy, and a rival that is not.
type path struct {
	*lab
	proxy  *faultproxy.Proxy
	faulty *peer
	rival  *peer
}

func newPath(t *testing.T) *path {
	t.Helper()
	l := newLab(t)
	p := &path{lab: l, proxy: faultproxy.Start(t, l.server.Addr())}
	p.faulty = l.peerAt(p.proxy.Addr(), rlock.ClientOptions{Lease: faultyLease})
	p.rival = l.peer(rlock.ClientOptions{Lease: faultyLease, MaxPoll: 50 * time.Millisecond})
	// The first request of a client is answered with the server's time only, and a script that the server
	// does not know is sent twice. Neither is to be under test.
	for _, peer := range []*peer{p.faulty, p.rival} {
		w := peer.write()
		r := peer.take(peer.Read(), context.WithoutCancel(w.ctx))
		for _, h := range []hold{w, r} {
			h.frees(t)
		}
	}
	require.Empty(t, l.left())
	return p
}

// step is one operation of a hold: the script that it is, and what stands in Redis when it is over.
type step struct {
	name, script string
	run          func(p *path, strike func()) hold
	mode         string // that the lock is in afterwards; "": it is free
}

var steps = []step{
	{"take write", "rw_write", func(p *path, strike func()) hold {
		strike()
		return p.locked(p.faulty.Write(), context.Background())
	}, "write"},
	{"take read", "rw_read", func(p *path, strike func()) hold {
		strike()
		return p.locked(p.faulty.Read(), context.Background())
	}, "read"},
	{"release write before another", "rw_write_release", func(p *path, strike func()) hold {
		from := p.locked(p.faulty.Write(), context.Background())
		next := p.faulty.wait(p.faulty.Write())
		strike()
		require.NoError(p, from.unlock())
		return p.arrives(next)
	}, "write"},
	{"release write", "rw_write_release", released((*path).writeLock), ""},
	{"release read", "rw_read_release", released((*path).readLock), ""},
	{"downgrade", "rw_write_release", func(p *path, strike func()) hold {
		w := p.locked(p.faulty.Write(), context.Background())
		r := p.locked(p.faulty.Read(), context.WithoutCancel(w.ctx))
		strike()
		require.NoError(p, w.unlock())
		return r
	}, "read"},
}

func (p *path) writeLock(opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(p.faulty.client, p.name, opts...).Write()
}

func (p *path) readLock(opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(p.faulty.client, p.name, opts...).Read()
}

// oneSide is one of the two.
type oneSide func(*path, ...rlock.Option) *rlock.Lock

func (p *path) locked(lock *rlock.Lock, ctx context.Context) hold {
	p.Helper()
	held, unlock, err := lock.Lock(ctx)
	require.NoError(p, err)
	return hold{lock, held, unlock, nil}
}

func released(lock oneSide) func(*path, func()) hold {
	return func(p *path, strike func()) hold {
		h := p.locked(lock(p), context.Background())
		strike()
		require.NoError(p, h.unlock())
		return h
	}
}

// G3: a request whose reply is lost is sent again and counts once, and one that is sent twice, or comes again
// under the next hold, is not noticed at all (bugs 1 to 5).
func TestEveryStepCountsOnce(t *testing.T) {
	t.Parallel()
	for _, s := range steps {
		for fault, action := range map[string]faultproxy.Action{
			"reply lost": faultproxy.DropReply, "cut after": faultproxy.CutAfter,
			"cut before": faultproxy.CutBefore, "request lost": faultproxy.DropRequest,
			"sent twice": faultproxy.Duplicate, "again later": nil,
		} {
			t.Run(s.name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				p := newPath(t)
				gate := faultproxy.NewGate()
				if action == nil {
					action = faultproxy.DuplicateLater(gate)
				}
				var rule *faultproxy.Rule
				h := s.run(p, func() {
					rule = p.proxy.On(faultproxy.Script(luacall.SHA(s.script)), action).Times(1)
				})
				rule.Wait(t, 1)
				p.standsOnce(s.mode, h)
				if s.mode != "" {
					require.NoError(t, h.unlock())
				}
				p.soonFree()
				next := p.rival.write()
				before := p.hash()
				gate.Open()
				if fault == "again later" {
					<-gate.Delivered()
				}
				require.Equal(t, before, p.hash(), "the next hold is untouched")
				next.known(t)
				require.NoError(t, next.unlock())
				p.soonFree()
			})
		}
	}
}

// standsOnce checks that Redis has exactly this hold, with one level, and its holder sees the same.
func (p *path) standsOnce(mode string, h hold) {
	p.Helper()
	if mode == "" {
		return
	}
	known := h.known(p)
	require.Equal(p, 1, known.Count)
	field := known.ID
	if mode == "write" {
		field += ":write"
	}
	fields := p.hash()
	require.Equal(p, mode, fields["mode"])
	require.Len(p, fields, 2, "%v", fields)
	require.Regexp(p, `^1(:\d+)?$`, fields[field])
	if mode == "read" {
		require.Positive(p, p.ttl(p.holdKey(known.ID, "1")))
		require.Negative(p, p.ttl(p.holdKey(known.ID, "2")))
	}
}

// passed waits until the server's clock is beyond the not-after of whatever was sent before.
func (p *path) passed() {
	p.Helper()
	now := func() time.Time { return p.rdb.Time(context.Background()).Val() }
	end := now().Add(faultyLease / 6)
	redistest.Eventually(p, patience, func() bool { return now().After(end) }, "time does not pass")
}

// soonFree checks that nothing is left, sooner than anything expires.
func (p *path) soonFree() {
	p.Helper()
	redistest.Eventually(p, faultyGrace, func() bool { return len(p.left()) == 0 }, "something is left")
}

// A call that is given up while its request is under way leaves nothing, whether it is carried out then,
// later, or both (G4).
func TestACallThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"read", "write", "read inside", "write behind readers"} {
		for _, late := range []bool{false, true} {
			name := side
			if late {
				name += ", carried out late"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPath(t)
				lock, script, base := p.faulty.Write(), "rw_write", context.Background()
				var outer *hold
				switch side {
				case "read":
					lock, script = p.faulty.Read(), "rw_read"
				case "read inside":
					h := p.faulty.write()
					outer, base = &h, h.ctx
					lock, script = p.faulty.Read(), "rw_read"
				case "write behind readers":
					h := p.rival.read()
					outer = &h
				}
				gate := faultproxy.NewGate()
				fault := faultproxy.HoldReply(gate)
				if late {
					fault = func(x *faultproxy.Exchange) {
						faultproxy.Late(gate)(x)
						faultproxy.DropRequest(x)
					}
				}
				rule := p.proxy.On(faultproxy.Script(luacall.SHA(script)), fault).Times(1)
				ctx, cancel := context.WithCancel(base)
				done := make(chan error, 1)
				go func() {
					_, _, err := lock.Lock(ctx)
					done <- err
				}()
				rule.Wait(t, 1)
				cancel()
				select {
				case err := <-done:
					require.True(t, errors.Is(err, context.Canceled), "%v", err)
				case <-time.After(patience):
					t.Fatal("the call does not return")
				}
				if late {
					p.passed()
				}
				gate.Open()
				if late {
					<-gate.Delivered()
				}
				if outer != nil {
					require.NoError(t, outer.unlock())
				}
				if late && side != "write behind readers" {
					require.Empty(t, p.left(), "it was carried out beyond its time")
				}
				p.soonFree()
			})
		}
	}
}

// G6: with every message lost, each side gets in within a poll interval of the release.
func TestWaitersGetInWithoutAnyMessage(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"write", "read", "read behind the gate"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			p := newPath(t)
			p.proxy.SwallowMessages(true)
			deaf := p.peerAt(p.proxy.Addr(), rlock.ClientOptions{MaxPoll: 200 * time.Millisecond})
			var waiting <-chan hold
			switch side {
			case "write":
				h := p.rival.read()
				waiting = deaf.wait(deaf.Write())
				h.frees(t)
			case "read":
				h := p.rival.write()
				waiting = deaf.wait(deaf.Read())
				h.frees(t)
			default:
				h := p.faulty.read()
				writer := p.rival.wait(p.rival.Write())
				p.gated()
				waiting = deaf.wait(deaf.Read())
				h.frees(t)
				p.arrives(writer).frees(t)
			}
			p.arrives(waiting).frees(t)
			p.clean()
		})
	}
}
