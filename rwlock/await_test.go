package rwlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// start has a goroutine call Lock of a side, and returns when it cannot go on by itself.
func (p *peer) start(ctx context.Context, lock *rlock.Lock) <-chan hold {
	c := make(chan hold, 1)
	go func() {
		held, unlock, err := lock.Lock(ctx)
		c <- hold{lock, held, unlock, err}
	}()
	synctest.Wait()
	return c
}

// crowd has 64 readers read until an instant, each for a time of its own: readings of one length would all end
// together, and no hold would be there to join. Reads waits for their end, and returns how often they have read.
func crowd(t *testing.T, l rlock.Locker, end time.Time) (reads func() int64) {
	var all sync.WaitGroup
	var n atomic.Int64
	for i := range 64 {
		reading := ms + time.Duration(i)*ms/64
		all.Go(func() {
			for time.Now().Before(end) {
				_, unlock, err := l.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(reading)
				if err := unlock(); err != nil {
					t.Error(err)
				}
				n.Add(1)
			}
		})
	}
	return func() int64 {
		all.Wait()
		return n.Load()
	}
}

// R6: many goroutines of a process read all the time. Whenever there is no hold to join, one of them asks Redis, and
// the others have what it is granted: a request each time that a hold was joined for long enough, and its release.
func TestACrowdOfReadersSendsOneRequest(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		const trip, load = ms, 200 * ms
		a := l.far(trip, rlock.ClientOptions{})
		before, releases := l.runs("rw_read"), l.releases()
		read := crowd(t, a.Read(), time.Now().Add(load))()
		windows := int(load/joinTime) + 1
		require.LessOrEqual(t, l.runs("rw_read")-before, 2*windows)
		require.LessOrEqual(t, l.releases()-releases, 2*windows)
		require.Greater(t, read, int64(64*100))
		l.ends()
	})
}

// All that come while one asks have the same hold, each with a context of its own; those that come behind a writer of
// their process wait for that.
func TestReadersHaveTheAnswerToAnothersRequest(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.far(ms, rlock.ClientOptions{})
		before := l.runs("rw_read")
		var readers []<-chan hold
		for range 10 {
			readers = append(readers, a.start(t.Context(), a.Read()))
		}
		writer := a.start(t.Context(), a.Write())
		behind := a.start(t.Context(), a.Read())
		var holds []hold
		for _, c := range readers {
			holds = append(holds, l.arrives(c))
		}
		require.Equal(t, before+1, l.runs("rw_read"))
		time.Sleep(10 * ms)
		require.Empty(t, writer)
		require.Empty(t, behind)
		id := holds[0].known(t).ID
		for _, h := range holds {
			require.Equal(t, id, h.known(t).ID)
			h.frees(t)
		}
		l.arrives(writer).frees(t)
		l.arrives(behind).frees(t)
		l.ends()
		a.heard(13, 0, 13) // with the write that connected it
	})
}

// A reader waits for another's answer for as long as a hold is joined, however long that takes. Then it asks itself,
// and so do all the others.
func TestAReaderDoesNotWaitForALateAnswer(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.far(ms, rlock.ClientOptions{})
		a.read().frees(t)
		before, first := l.runs("rw_read"), true
		l.mu.Lock()
		l.fault = func(script string) simredis.Verdict {
			if script != "rw_read" || !first {
				return simredis.Pass
			}
			first = false
			return simredis.Delay(100 * ms)
		}
		l.mu.Unlock()
		sent := time.Now()
		slow := a.start(t.Context(), a.Read())
		others := []<-chan hold{a.start(t.Context(), a.Read()), a.start(t.Context(), a.Read())}
		holds := []hold{l.arrives(others[0]), l.arrives(others[1])}
		require.Less(t, time.Since(sent), joinTime+10*ms)
		require.GreaterOrEqual(t, time.Since(sent), joinTime)
		require.Equal(t, before+3, l.runs("rw_read"))
		for _, h := range append(holds, l.arrives(slow)) {
			h.frees(t)
		}
		l.ends()
	})
}

// Of the readers that come while a writer of another process has the lock, one asks for all: when it comes, when it
// listens, and when the lock is released. All have what it is granted then. If it leaves, the next one asks, and a
// reader that leaves while another one asks has sent nothing.
func TestReadersAtAGateSendOneRequest(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.far(ms, rlock.ClientOptions{})
		a.read().frees(t)
		w := l.near(rlock.ClientOptions{}).write()
		before := l.runs("rw_read")
		var readers []<-chan hold
		var cancels []context.CancelFunc
		for range 64 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			readers, cancels = append(readers, a.start(ctx, a.Read())), append(cancels, cancel)
		}
		time.Sleep(asEver)
		require.Equal(t, before+2, l.runs("rw_read"))
		for _, i := range []int{1, 0} { // one that waits for the answer to another one, and then that one
			cancels[i]()
			require.ErrorIs(t, (<-readers[i]).err, rlock.ErrBusy)
		}
		time.Sleep(asEver)
		require.LessOrEqual(t, l.runs("rw_read"), before+4, "the next asks, and listens")
		before = l.runs("rw_read")
		w.frees(t)
		holds := []hold{l.arrives(readers[2])}
		for _, c := range readers[3:] {
			holds = append(holds, l.arrives(c))
			require.Equal(t, holds[0].known(t).ID, holds[len(holds)-1].known(t).ID)
		}
		require.Equal(t, before+1, l.runs("rw_read"))
		for _, h := range holds {
			h.frees(t)
		}
		l.ends()
	})
}

// Readers that come from a gate do not keep the next writer waiting for as long as others would: a hold that one of them
// was granted is joined for two round trips. So a writer that writes whenever it can has its turn more often than once
// in that time.
func TestAWriterBesideACrowdOfReaders(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		const trip, load = ms, 200 * ms
		a, w := l.far(trip, rlock.ClientOptions{}), l.far(trip, rlock.ClientOptions{})
		end := time.Now().Add(load)
		reads := crowd(t, a.Read(), end)
		time.Sleep(joinTime) // they have begun
		writes := 0
		for ; time.Now().Before(end); writes++ {
			l.arrives(w.start(t.Context(), w.Write())).frees(t)
		}
		reads()
		require.Greater(t, writes, int(load/joinTime))
		l.ends()
	})
}

// What is no answer to one request is none to others: they ask at once.
func TestAnswersThatAreNoGrantToOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(l *joinLab, cancel context.CancelFunc){
		"its context ends": func(_ *joinLab, cancel context.CancelFunc) { time.AfterFunc(ms/2, cancel) },
		"the connection breaks": func(l *joinLab, _ context.CancelFunc) {
			l.suffers("rw_read", simredis.CutAfter)
			time.AfterFunc(ms, l.heals)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inJoinLab(t, func(t *testing.T, l *joinLab) {
				a := l.far(ms, rlock.ClientOptions{})
				a.read().frees(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				before := l.runs("rw_read")
				test(l, cancel)
				sent := time.Now()
				first, second := a.start(ctx, a.Read()), a.start(t.Context(), a.Read())
				time.Sleep(time.Until(sent.Add(joinTime - ms)))
				require.GreaterOrEqual(t, l.runs("rw_read"), before+2, "the second asks as soon as it knows")
				if h := <-first; h.err == nil {
					h.frees(t)
				}
				l.arrives(second).frees(t)
				l.ends()
			})
		})
	}
}

// A reader that leaves while it waits for another's answer has sent nothing, and leaves nothing in the hold that comes.
func TestAReaderThatAwaitsLeaves(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.far(4*ms, rlock.ClientOptions{})
		a.read().frees(t)
		before := l.runs("rw_read")
		first := a.start(t.Context(), a.Read())
		var all []<-chan hold
		for i := range 8 { // before the answer comes, and at that instant
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*ms/2)
			defer cancel()
			all = append(all, a.start(ctx, a.Read()))
		}
		h := l.arrives(first)
		for _, c := range all {
			if left := <-c; left.err == nil {
				require.NoError(t, left.unlock())
			} else {
				require.ErrorIs(t, left.err, context.DeadlineExceeded)
				require.NotErrorIs(t, left.err, rlock.ErrBusy, "nobody said so")
			}
		}
		time.Sleep(asEver)
		require.Equal(t, before+1, l.runs("rw_read"))
		l.counts(h.known(t).ID, "1")
		h.frees(t)
		time.Sleep(asEver)
		l.ends()
	})
}

// Close ends those that wait for another's answer, too.
func TestCloseWhileReadersAwait(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.far(4*ms, rlock.ClientOptions{})
		var all []<-chan hold
		for range 3 {
			all = append(all, a.start(t.Context(), a.Read()))
		}
		_ = a.client.Close()
		for _, c := range all {
			require.ErrorIs(t, (<-c).err, rlock.ErrClosed)
		}
		time.Sleep(asEver)
		l.ends()
	})
}
