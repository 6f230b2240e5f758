package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The fair lock shares with Redisson that there is one holder, and that each side wakes the other. Each side
// has its own queue.

// fairly takes the fair lock of a name, which is free.
func (g *goSide) fairly(name string) outcome {
	g.t.Helper()
	ctx, unlock, err := fairlock.New(g.client, name).TryLock(context.Background())
	require.NoError(g.t, err)
	return outcome{ctx, unlock, nil}
}

// fairWaiting starts a Lock, and returns once it is in the queue; with listening, once it also hears of the
// releases of holders that do not know of the queue.
func (g *goSide) fairWaiting(name string, listening bool) <-chan outcome {
	g.t.Helper()
	lock := fairlock.New(g.client, name)
	c := make(chan outcome, 1)
	go func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(2*limit, func() { cancel(errors.New("Lock took too long")) })
		defer timer.Stop() // the hold's context must not end with it
		held, unlock, err := lock.Lock(ctx)
		c <- outcome{held, unlock, err}
	}()
	redistest.Eventually(g.t, limit, func() bool {
		info, err := lock.Inspect(context.Background())
		return err == nil && info.Waiters > 0
	}, "the call does not wait")
	if listening {
		g.listened(name)
	}
	return c
}

// A waiter in Go is woken by the unlock of Java's plain lock, which only a message announces. The unlock of
// Java's fair lock tells only Java's queue, so it is noticed with the next poll.
func TestFairLockIsWokenByJava(t *testing.T) {
	t.Parallel()
	for operation, poll := range map[string]time.Duration{"": never, "fair.": 100 * time.Millisecond} {
		t.Run(operation+"lock", func(t *testing.T) {
			t.Parallel()
			_, j, g := one(t, javaOptions{}, rlock.ClientOptions{MaxPoll: poll})
			a := j.thread("a")
			for range 10 {
				a.do(operation+"lock", "fair")
				_, _, err := fairlock.New(g.client, "fair").TryLock(context.Background())
				require.ErrorIs(t, err, rlock.ErrBusy)
				entering := g.fairWaiting("fair", true)
				require.Empty(t, entering)
				a.do(operation+"unlock", "fair")
				o := g.arrives(entering)
				require.Equal(t, "false", a.do(operation+"try", "fair", "0"))
				require.NoError(t, o.unlock())
			}
			require.Equal(t, "false", a.do("locked", "fair"))
		})
	}
}

// When a fair lock is released and nobody waits for it in Go, Java's waiters are woken, of both kinds.
func TestFairLockWakesJava(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"", "fair."} {
		t.Run(operation+"lock", func(t *testing.T) {
			t.Parallel()
			_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
			a, b := j.thread("a"), j.thread("b")
			for range 10 {
				o := g.fairly("fair")
				first := a.waiting(operation+"lock", "fair")
				second := b.waiting(operation+"lock", "fair")
				require.NoError(t, o.ctx.Err())
				require.NoError(t, o.unlock())
				if operation == "fair." {
					javaArrives(t, first)
					require.Empty(t, second)
					a.do("fair.unlock", "fair")
					javaArrives(t, second)
					b.do("fair.unlock", "fair")
					continue
				}
				for range 2 { // in any order
					select {
					case got := <-first:
						require.Empty(t, got.err)
						a.do("unlock", "fair")
					case got := <-second:
						require.Empty(t, got.err)
						b.do("unlock", "fair")
					case <-time.After(limit):
						t.Fatal("Java is not woken")
					}
				}
			}
		})
	}
}

// Waiters in Go survive a killed holder in Java, and the other way round a hold of ours that expires lets
// Java in.
func TestFairLockSurvivesAKilledJava(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{watchdog: short}, rlock.ClientOptions{MaxPoll: 500 * time.Millisecond})
	j.thread("a").do("lock", "fair")
	entering := g.fairWaiting("fair", true)
	j.kill()
	require.Empty(t, entering, "its lease is not over")
	require.NoError(t, g.arrives(entering).unlock())
}

// Java threads with plain and with fair locks and the goroutines of three clients contend for one name: never
// are two inside, and although a waiter of ours waits all the time, Java gets its turns.
func TestFairLockMixedContenders(t *testing.T) {
	t.Parallel()
	server, j, g := one(t, javaOptions{}, rlock.ClientOptions{MaxPoll: time.Second})
	gs := []*goSide{g}
	for len(gs) < 3 {
		gs = append(gs, newGo(t, server.Client(t), rlock.ClientOptions{MaxPoll: time.Second}, server))
	}
	p := place{rdb: server.Client(t), name: "{fair}:place"}
	javas := []tally{{who: "java0"}, {who: "java1"}, {who: "java2"}, {who: "java3"}}
	var calls []<-chan answer
	for i, of := range javas {
		operation := []string{"hammer", "fair.hammer"}[i%2]
		calls = append(calls, j.thread(of.who).start(operation, "fair", p.name, of.who,
			strconv.FormatInt(mixedFor.Milliseconds(), 10), strconv.Itoa(mixedLeast)))
	}
	stop := make(chan struct{})
	ours := make([]tally, 2*len(gs))
	var done sync.WaitGroup
	for i := range ours {
		done.Go(func() { ours[i] = fairHammer(gs[i%len(gs)], p, fmt.Sprint("go", i), stop) })
	}
	for i, call := range calls {
		select {
		case a := <-call:
			require.Empty(t, a.err)
			_, err := fmt.Sscan(a.value, &javas[i].entries, &javas[i].overlaps)
			require.NoError(t, err)
		case <-time.After(mixedLimit):
			t.Errorf("%s starves", javas[i].who)
		}
	}
	close(stop)
	done.Wait()
	inJava, javaOverlaps := sum(t, javas)
	inGo, goOverlaps := sum(t, ours)
	require.Zero(t, javaOverlaps+goOverlaps, "two were inside")
	counted, err := p.rdb.Get(t.Context(), p.name+":counter").Int()
	require.NoError(t, err)
	require.Equal(t, inJava+inGo, counted, "counts were lost: two were inside")
	require.GreaterOrEqual(t, inGo, len(ours)*mixedLeast, "Go starves")
}

// fairHammer does with a fair lock what hammer does with a plain one.
func fairHammer(g *goSide, p place, me string, stop <-chan struct{}) tally {
	got := tally{who: me}
	lock := fairlock.New(g.client, "fair", rlock.MaxWait(limit))
	for got.err == nil {
		select {
		case <-stop:
			return got
		default:
		}
		got.err = lock.Do(context.Background(), func(ctx context.Context) error {
			alone, err := p.visit(ctx, me)
			if err == nil && !alone {
				got.overlaps++
			}
			got.entries++
			return err
		})
	}
	return got
}
