package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// mood is a network whose fate for some kinds of requests of client 1 changes.
type mood struct {
	mu    sync.Mutex // guards fates
	fates map[memstore.Kind]memstore.Fate
}

// Fate implements memstore.Network.
func (m *mood) Fate(r memstore.Request) memstore.Fate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Client != 1 {
		return memstore.Fate{}
	}
	return m.fates[r.Kind]
}

func (m *mood) is(fate memstore.Fate, kinds ...memstore.Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fates = make(map[memstore.Kind]memstore.Fate)
	for _, kind := range kinds {
		m.fates[kind] = fate
	}
}

var (
	hangs   = memstore.Fate{Before: time.Hour}
	refuses = memstore.Fate{Refuse: true}
	breaks  = memstore.Fate{Mute: true}
)

// subject is a kind of lock that one client holds, and that others want.
type subject struct {
	name  string
	holds func(t *testing.T, c *rlock.Client) (release func())
	wants func(c *rlock.Client, opts ...rlock.Option) (wait, try func(context.Context) error)
}

// returns drops what only holders need.
func returns(f func(context.Context) (context.Context, func() error, error)) func(context.Context) error {
	return func(ctx context.Context) error { _, _, err := f(ctx); return err }
}

// locks is a subject that is made of two handles.
func locks(
	name string, holds func(*rlock.Client) *rlock.Lock, wants func(*rlock.Client, ...rlock.Option) *rlock.Lock,
) subject {
	return subject{
		name: name,
		holds: func(t *testing.T, c *rlock.Client) func() {
			_, unlock, err := holds(c).Lock(t.Context())
			require.NoError(t, err)
			return func() { require.NoError(t, unlock()) }
		},
		wants: func(c *rlock.Client, opts ...rlock.Option) (wait, try func(context.Context) error) {
			l := wants(c, opts...)
			return returns(l.Lock), returns(l.TryLock)
		},
	}
}

func plain(c *rlock.Client, opts ...rlock.Option) *rlock.Lock { return rlock.New(c, "a", opts...) }
func fair(c *rlock.Client, opts ...rlock.Option) *rlock.Lock  { return fairlock.New(c, "a", opts...) }
func read(c *rlock.Client, opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(c, "a", opts...).Read()
}
func write(c *rlock.Client, opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(c, "a", opts...).Write()
}

// by calls a constructor of handles without options.
func by(f func(*rlock.Client, ...rlock.Option) *rlock.Lock) func(*rlock.Client) *rlock.Lock {
	return func(c *rlock.Client) *rlock.Lock { return f(c) }
}

// subjects are all kinds of locks of which one call can keep out another.
func subjects() []subject {
	all := []subject{
		locks("lock", by(plain), plain),
		locks("fair lock", by(fair), fair),
		locks("writer behind a writer", by(write), write),
		locks("writer behind a reader", by(read), write),
		locks("reader behind a writer", by(write), read),
	}
	for _, size := range []int64{1, 2} {
		all = append(all, subject{
			name: fmt.Sprintf("permits, %d of 2", size),
			holds: func(t *testing.T, c *rlock.Client) func() {
				require.NoError(t, semaphore.New(c, "a").SetCapacity(t.Context(), 2))
				_, release, err := semaphore.New(c, "a").Acquire(t.Context(), 2)
				require.NoError(t, err)
				return func() { require.NoError(t, release()) }
			},
			wants: func(c *rlock.Client, opts ...rlock.Option) (wait, try func(context.Context) error) {
				s := semaphore.New(c, "a", opts...)
				return func(ctx context.Context) error { _, _, err := s.Acquire(ctx, size); return err },
					func(ctx context.Context) error { _, _, err := s.TryAcquire(ctx, size); return err }
			},
		})
	}
	return append(all, subject{
		name:  "set",
		holds: locks("", func(c *rlock.Client) *rlock.Lock { return rlock.New(c, "b") }, nil).holds,
		wants: func(c *rlock.Client, opts ...rlock.Option) (wait, try func(context.Context) error) {
			l := multilock.New([]*rlock.Lock{rlock.New(c, "a"), rlock.New(c, "b"), rlock.New(c, "c")}, opts...)
			return returns(l.Lock), returns(l.TryLock)
		},
	})
}

// numbers are the kinds that nobody holds, and whose calls have no options.
func numbers() []subject {
	return []subject{{
		name: "count",
		holds: func(t *testing.T, c *rlock.Client) func() {
			require.NoError(t, semaphore.NewCounting(c, "a").Set(t.Context(), 0))
			return func() {}
		},
		wants: func(c *rlock.Client, _ ...rlock.Option) (wait, try func(context.Context) error) {
			s := semaphore.NewCounting(c, "a")
			return func(ctx context.Context) error { return s.Acquire(ctx, 1) },
				func(ctx context.Context) error { return s.TryAcquire(ctx, 1) }
		},
	}, {
		name: "latch",
		holds: func(t *testing.T, c *rlock.Client) func() {
			require.NoError(t, latch.New(c, "a").Set(t.Context(), 1))
			return func() {}
		},
		wants: func(c *rlock.Client, _ ...rlock.Option) (wait, try func(context.Context) error) {
			return latch.New(c, "a").Wait, nil
		},
	}}
}

// scene is a store with a holder, and clients that want what it has.
type scene struct {
	t       *testing.T
	net     *mood
	clients [2]*rlock.Client // number 0 has a network that is always well
	of      subject
	release func()
}

const sceneLease = 30 * time.Second

// begin opens a scene in which a client holds.
func begin(t *testing.T, of subject, direct bool, holder int) *scene {
	s := &scene{t: t, net: new(mood), of: of}
	server := memstore.NewServer(s.net)
	t.Cleanup(server.Close)
	for i := range s.clients {
		options, err := redisclient.Options{Lease: sceneLease, Logger: slog.New(slog.DiscardHandler)}.Checked()
		require.NoError(t, err)
		made, err := redisclient.On(options, redisclient.ByRules(server.Store(i, direct)), false)
		require.NoError(t, err)
		s.clients[i] = (*rlock.Client)(made)
		t.Cleanup(func() { _ = made.Close() })
	}
	s.release = of.holds(t, s.clients[holder])
	return s
}

// manner is a way in which calls end.
type manner struct {
	name  string
	begin func(s *scene, d time.Duration) (call func() error)
	also  error // that the error of the call matches, too
}

// manners are all ways in which a call that waits can end after d.
var manners = []manner{
	{"deadline", func(s *scene, d time.Duration) func() error {
		wait, _ := s.of.wants(s.clients[1])
		return func() error {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			return wait(ctx)
		}
	}, context.DeadlineExceeded},
	{"cancelled", func(s *scene, d time.Duration) func() error {
		wait, _ := s.of.wants(s.clients[1])
		return func() error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			defer time.AfterFunc(d, cancel).Stop()
			return wait(ctx)
		}
	}, context.Canceled},
	{"MaxWait", func(s *scene, d time.Duration) func() error {
		wait, _ := s.of.wants(s.clients[1], rlock.MaxWait(d))
		return func() error { return wait(context.Background()) }
	}, nil},
}

// told has n callers give up at the same time, after d, and checks what all of them are told.
func (s *scene) told(m manner, n int, d time.Duration, want error, meanwhile func()) {
	s.t.Helper()
	call, errs := m.begin(s, d), make(chan error, n)
	for range n {
		go func() { errs <- call() }()
	}
	if meanwhile != nil {
		meanwhile()
	}
	words := make(map[string]int)
	for range n {
		err := <-errs
		words[err.Error()]++
		for _, word := range []error{rlock.ErrBusy, rlock.ErrUnavailable} {
			if word == want {
				require.ErrorIs(s.t, err, word)
			} else {
				require.NotErrorIs(s.t, err, word, "%s, %d callers, so far: %v", m.name, n, words)
			}
		}
		if m.also != nil {
			require.ErrorIs(s.t, err, m.also)
		}
	}
}

// requests are those by which callers ask, or wait.
var requests = []memstore.Kind{memstore.Acquire, memstore.Enqueue, memstore.Change, memstore.Subscribe, memstore.Inspect}

// What callers of one process are told that give up at about the same time: the store's last answer, and "unavailable"
// only if the newest request failed, or none was answered.
var stories = []struct {
	name string
	want error
	tell func(s *scene, m manner, n int, want error)
}{
	{"the store answers", rlock.ErrBusy, func(s *scene, m manner, n int, want error) {
		s.told(m, n, 2*time.Second, want, nil)
	}},
	{"the store hangs from the beginning", rlock.ErrUnavailable, func(s *scene, m manner, n int, want error) {
		s.net.is(hangs, requests...)
		s.told(m, n, 2*time.Second, want, nil)
	}},
	{"the store hangs until requests are given up", rlock.ErrUnavailable, func(s *scene, m manner, n int, want error) {
		s.net.is(hangs, requests...)
		s.told(m, n, 10*time.Second, want, nil)
	}},
	{"the store refuses", rlock.ErrUnavailable, func(s *scene, m manner, n int, want error) {
		s.net.is(refuses, requests...)
		s.told(m, n, 2*time.Second, want, nil)
	}},
	{"connections break", rlock.ErrUnavailable, func(s *scene, m manner, n int, want error) {
		s.net.is(breaks, requests...)
		s.told(m, n, 2*time.Second, want, nil)
	}},
	{"the store answers, and hangs", rlock.ErrBusy, func(s *scene, m manner, n int, want error) {
		s.told(m, n, 2*time.Second, want, func() {
			synctest.Wait()
			s.net.is(hangs, requests...)
		})
	}},
	{"the store answers, and hangs until a request is given up", rlock.ErrUnavailable,
		func(s *scene, m manner, n int, want error) {
			s.told(m, n, 15*time.Second, want, func() {
				synctest.Wait()
				s.net.is(hangs, requests...)
			})
		}},
	{"the store answers, and refuses", rlock.ErrUnavailable, func(s *scene, m manner, n int, want error) {
		s.told(m, n, 5*time.Second, want, func() {
			synctest.Wait()
			s.net.is(refuses, requests...)
		})
	}},
	{"the store refuses, and answers", rlock.ErrBusy, func(s *scene, m manner, n int, want error) {
		s.net.is(refuses, requests...)
		s.told(m, n, 5*time.Second, want, func() {
			time.Sleep(time.Second)
			s.net.is(memstore.Fate{})
		})
	}},
}

// TestWhatCallersAreToldThatGiveUp is about a holder elsewhere (defect G1).
func TestWhatCallersAreToldThatGiveUp(t *testing.T) {
	for _, of := range append(subjects(), numbers()...) {
		for _, story := range stories {
			t.Run(of.name+"/"+story.name, func(t *testing.T) {
				for _, m := range manners {
					if m.name == "MaxWait" && (of.name == "count" || of.name == "latch") {
						continue // they have no options
					}
					for _, n := range []int{1, 2, 50} {
						for _, direct := range []bool{true, false} {
							synctest.Test(t, func(t *testing.T) {
								s := begin(t, of, direct, 0)
								story.tell(s, m, n, story.want)
							})
						}
					}
				}
			})
		}
	}
}

// What a request came to whose caller had left is told to those that came since, as long as one of them is there.
// This is defect G1.
func TestWhatBecameOfARequestIsKnownThoughItsCallerLeft(t *testing.T) {
	for _, c := range []struct {
		name  string
		fate  memstore.Fate
		known bool          // the first caller was answered before
		until time.Duration // until the second one gives up; the first does after 2 s
		want  error
	}{
		{"it was answered after 2.5 s", memstore.Fate{After: 2500 * time.Millisecond}, false, 3 * time.Second, rlock.ErrBusy},
		{"it was refused after 2.5 s", memstore.Fate{After: 2500 * time.Millisecond, Refuse: true}, false, 3 * time.Second,
			rlock.ErrUnavailable},
		{"the time of the request ended after 3 s", hangs, false, 4 * time.Second, rlock.ErrUnavailable},
		{"it was refused after an answer", hangs, true, 5500 * time.Millisecond, rlock.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, of := range append(subjects()[:5], numbers()...) {
				for _, direct := range []bool{true, false} {
					synctest.Test(t, func(t *testing.T) {
						s := begin(t, of, direct, 0)
						_, unlock, err := rlock.New(s.clients[1], "other").Lock(t.Context())
						require.NoError(t, err, "it knows the server's clock now, and none of its requests comes too late")
						require.NoError(t, unlock())
						if !c.known {
							s.net.is(c.fate, requests...)
						}
						first, cancel := context.WithTimeout(t.Context(), 2*time.Second)
						defer cancel()
						second, cancelSecond := context.WithTimeout(t.Context(), c.until)
						defer cancelSecond()
						wait, _ := of.wants(s.clients[1])
						told := make(chan error, 2)
						go func() { told <- wait(first) }()
						synctest.Wait()
						s.net.is(c.fate, requests...)
						go func() { told <- wait(second) }()
						<-told
						err = <-told
						require.ErrorIs(t, err, c.want, "%s, direct: %v", of.name, direct)
						require.ErrorIs(t, err, context.DeadlineExceeded)
					})
				}
			}
		})
	}
}

// TestWhatCallersAreToldBehindAHoldOfTheirOwnProcess: a live hold counts as busy, whatever becomes of the store. The
// store alone knows whether a permit is left beside those of this process (defect G1).
func TestWhatCallersAreToldBehindAHoldOfTheirOwnProcess(t *testing.T) {
	for _, of := range subjects() {
		for name, fate := range map[string]memstore.Fate{"well": {}, "hangs": hangs, "refuses": refuses} {
			t.Run(of.name+"/"+name, func(t *testing.T) {
				for _, m := range manners {
					for _, n := range []int{1, 50} {
						synctest.Test(t, func(t *testing.T) {
							s := begin(t, of, true, 1)
							if !strings.HasPrefix(of.name, "permits") {
								s.net.is(fate, append([]memstore.Kind{memstore.Renew}, requests...)...)
							}
							s.told(m, n, 2*time.Second, rlock.ErrBusy, nil)
							s.net.is(memstore.Fate{})
							s.release()
						})
					}
				}
			})
		}
	}
}

// TestWhatATryIsTold: it is told what its own request came to, and beside callers that wait what the store last said.
// This is defect G1.
func TestWhatATryIsTold(t *testing.T) {
	for _, of := range append(subjects(), numbers()[0]) {
		for _, c := range []struct {
			name string
			fate memstore.Fate
			want error
		}{{"well", memstore.Fate{}, rlock.ErrBusy}, {"hangs", hangs, rlock.ErrUnavailable},
			{"refuses", refuses, rlock.ErrUnavailable}, {"breaks", breaks, rlock.ErrUnavailable}} {
			t.Run(of.name+"/"+c.name, func(t *testing.T) {
				for _, n := range []int{1, 50} {
					synctest.Test(t, func(t *testing.T) {
						s := begin(t, of, true, 0)
						s.net.is(c.fate, requests...)
						_, try := of.wants(s.clients[1])
						s.told(manner{name: "try", begin: func(*scene, time.Duration) func() error {
							return func() error { return try(context.Background()) }
						}}, n, 0, c.want, nil)
					})
				}
			})
		}
	}
}
