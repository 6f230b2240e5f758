package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/pipeline"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A caller that leaves before its call is sent returns at once, and the call never is. Neither is one whose time is over.
func TestACallThatNobodyWantsIsNotSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	ended, end := context.WithCancel(t.Context())
	goes, fine := l.starts(ended, "a", "ended"), l.starts(t.Context(), "a", "fine")
	late := l.starts(links.Within(context.Background(), 100*time.Millisecond), "a", "late")
	l.gathered("a", 3)
	end()
	require.ErrorIs(t, redistest.Receive(t, patience, goes, "it does not leave"), store.ErrUnsent)
	require.ErrorIs(t, redistest.Receive(t, patience, late, "it stays for ever"), store.ErrLate)
	gate.Open()
	wait()
	require.NoError(t, <-fine)
	require.ErrorIs(t, <-l.starts(ended, "a", "ended"), store.ErrUnsent, "it had ended before")
	require.ErrorIs(t, <-l.starts(links.Within(context.Background(), 0), "a", "late"), store.ErrLate)
	require.Zero(t, l.sent("ended")+l.sent("late"))
	require.Equal(t, 1, l.sent("fine"))
}

// A caller that leaves an exchange returns at once. The end of the exchange settles its call.
func TestACallIsLeftAndSettles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(1)
	ctx, cancel := within(10 * patience) // so that it is not what settles it
	result := l.starts(ctx, "a", "left")
	held.Wait(t, 1)
	cancel()
	exit := l.left(result)
	l.unsettled(exit)
	require.NoError(t, <-l.starts(context.Background(), "a", "not held up"))
	l.unsettled(exit)
	gate.Open()
	l.settles(exit)
	require.Equal(t, 1, l.sent("left"))
}

// The answer to a call that was left is no later call's, though calls are used again.
func TestTheAnswerToACallThatWasLeftIsNobodyElses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for range 8 {
		first, second := faultproxy.NewGate(), faultproxy.NewGate()
		held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(first)).Times(1)
		ctx, cancel := within(10 * patience)
		result := l.starts(ctx, "a", "left")
		held.Wait(t, 1)
		cancel()
		exit := l.left(result)
		held = l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(second)).Times(1)
		later := l.starts(context.Background(), "a", "later")
		held.Wait(t, 1)
		first.Open()
		l.settles(exit)
		select {
		case err := <-later:
			t.Fatalf("it has the answer to another call: %v", err)
		default:
		}
		second.Open()
		require.NoError(t, <-later)
	}
}

// A server that never answers settles nothing; the time limit of the call does, though the exchange goes on.
func TestWhatIsLeftSettlesAtItsLimit(t *testing.T) {
	t.Parallel()
	l := newLabAt(t, redistest.Shared(t), 2*patience) // which is how long the exchange takes at most
	gate := faultproxy.NewGate()
	defer gate.Open()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(1)
	end := time.Now().Add(time.Second)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	result := l.starts(ctx, "a", "lost")
	held.Wait(t, 1)
	cancel()
	exit := l.left(result)
	l.settles(exit)
	require.False(t, time.Now().Before(end))
}

// A caller whose time is over while its call is under way returns, and the exchange goes on: neither its connection nor
// the other calls suffer from it.
func TestACallerWithLittleTimeHarmsNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	short := l.starts(links.Within(context.Background(), time.Second), "a", "short")
	l.gathered("a", 1)
	stays := l.starts(context.Background(), "a", "stays")
	l.gathered("a", 2)
	second := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(second)).Times(2)
	gate.Open()
	wait()
	held.Wait(t, 1)
	require.ErrorIs(t, redistest.Receive(t, patience, short, "it stays for ever"), context.DeadlineExceeded)
	second.Open()
	require.NoError(t, <-stays)
}

// A caller has its time limit for the call, and more while a connection is greeted for it.
func TestAGreetingDoesNotCount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const limit = 500 * time.Millisecond
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.Command("hello"), faultproxy.HoldReply(gate)).Times(1)
	result := l.starts(links.Within(context.Background(), limit), "a", "greeted")
	held.Wait(t, 1)
	select {
	case err := <-result:
		t.Fatal(err)
	case <-time.After(limit + limit/5): // of the greeting, which may take twice that
	}
	gate.Open()
	require.NoError(t, <-result)
}

// defect F11: what must end within a time is left then, although its exchange still waits for a connection, and nothing
// ends its context.
func TestACallThatWaitsForAConnectionEndsInTime(t *testing.T) {
	t.Parallel()
	given := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	defer func() { require.NoError(t, given.Close()) }()
	derived, err := links.From(given, links.Limits{Command: patience})
	require.NoError(t, err)
	pipe := pipeline.New(pipeline.Config{
		Client: derived.Traffic, Shard: func(string) string { return "" }, Limit: patience, OneSlot: new(atomic.Bool),
	})
	defer pipe.Join()
	defer func() { require.NoError(t, derived.Close()) }() // ends the dial
	const limit = 100 * time.Millisecond
	began := time.Now()
	ctx := links.WithinAll(context.Background(), time.Second, limit)
	require.ErrorIs(t, pipe.Process(ctx, echo(ctx, "sha", "a", 1)), context.DeadlineExceeded)
	require.GreaterOrEqual(t, time.Since(began), limit)
	require.Less(t, time.Since(began), patience)
}

// Until an exchange is written it is certain that nothing was sent, however long the connection takes: a caller that leaves
// before learns that, and its call is never sent. Those that stay are served by the connection that was being made. One whose call
// was written is in doubt (defect G5).
func TestWhatWaitsForAConnectionWasNotSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.Command("hello"), faultproxy.HoldReply(gate)).Times(pipeline.Workers + 1)
	ctx, cancel := within(patience)
	defer cancel()
	var goes, stays []<-chan error
	for i := range pipeline.Workers {
		goes = append(goes, l.starts(ctx, "a", fmt.Sprint("goes", i)))
		held.Wait(t, i+1)
	}
	short := l.starts(links.Within(context.Background(), 100*time.Millisecond), "b", "short")
	held.Wait(t, pipeline.Workers+1)
	for i := range 10 {
		stays = append(stays, l.starts(context.Background(), "a", fmt.Sprint("stays", i)))
	}
	cancel()
	for _, result := range goes {
		require.ErrorIs(t, redistest.Receive(t, patience, result, "it does not leave"), store.ErrUnsent)
	}
	err := redistest.Receive(t, patience, short, "it stays for ever")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, store.FaultTransient, store.FaultOf(err), err)
	gate.Open()
	for _, result := range stays {
		require.NoError(t, redistest.Receive(t, patience, result, "it has no answer"))
	}
	written := l.proxy.Requests(func(r faultproxy.Request) bool {
		text := string(r.Args[len(r.Args)-1])
		return r.SHA() == l.sha && (text == "short" || strings.HasPrefix(text, "goes"))
	})
	require.Zero(t, written, "of those that left")
}

// An exchange of several, of which some left while the connection was being made, is sent again for the others.
func TestOthersLeaveWhileAConnectionIsMade(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, greet := faultproxy.NewGate(), faultproxy.NewGate()
	defer gate.Open()
	stuck := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.Workers)
	var broken []<-chan error
	for i := range pipeline.Workers {
		broken = append(broken, l.starts(context.Background(), "a", "broken"))
		stuck.Wait(t, i+1)
	}
	ctx, cancel := within(patience)
	defer cancel()
	stay1 := l.starts(context.Background(), "a", "stays1")
	l.gathered("a", 1)
	goes := l.starts(ctx, "a", "goes")
	l.gathered("a", 2)
	stay2 := l.starts(context.Background(), "a", "stays2")
	l.gathered("a", 3)
	held := l.proxy.On(faultproxy.Command("hello"), faultproxy.HoldReply(greet)).Times(1)
	l.proxy.CutAll()
	for _, result := range broken {
		require.Error(t, <-result)
	}
	held.Wait(t, 1)
	cancel()
	require.ErrorIs(t, redistest.Receive(t, patience, goes, "it does not leave"), store.ErrUnsent)
	greet.Open()
	require.NoError(t, redistest.Receive(t, patience, stay1, "it has no answer"))
	require.NoError(t, redistest.Receive(t, patience, stay2, "it has no answer"))
	for text, times := range map[string]int{"goes": 0, "stays1": 1, "stays2": 1} {
		require.Equal(t, times, l.proxy.Requests(func(r faultproxy.Request) bool {
			return r.SHA() == l.sha && string(r.Args[len(r.Args)-1]) == text
		}), text)
	}
}

// When the owner ends, the callers that can leave do, and the others get their replies.
func TestEndLetsThoseLeaveWhoCan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.Workers)
	may, cancel := within(patience)
	defer cancel()
	goes := l.starts(may, "a", "goes")
	held.Wait(t, 1)
	var stays []<-chan error
	for i := range pipeline.Workers - 1 {
		stays = append(stays, l.starts(context.Background(), "a", "stays"))
		held.Wait(t, i+2)
	}
	gathers := l.starts(may, "a", "gathers")
	stays = append(stays, l.starts(context.Background(), "a", "gathers and stays"))
	l.gathered("a", 2)
	l.pipe.End()
	require.ErrorIs(t, <-gathers, store.ErrUnsent)
	exit := l.left(goes)
	gate.Open()
	for _, stay := range stays {
		require.NoError(t, <-stay)
	}
	l.settles(exit)
	require.Error(t, <-l.starts(may, "a", "comes later"))
	require.NoError(t, <-l.starts(context.Background(), "a", "comes later and stays"))
	require.Zero(t, l.sent("gathers"), "its context has not ended, but it was left")
}

// Contexts that end at any moment: each call has one outcome, which is true of what the server saw, and those that
// stay are answered.
func TestEachOfAThousandCallersHasOneOutcome(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const callers = 1000
	var wg sync.WaitGroup
	var mu sync.Mutex // guards all below
	var unsent, answered, left int
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			for turn := range 10 {
				text := fmt.Sprintf("%d/%d", caller, turn)
				ctx, cancel := within(patience)
				stop := time.AfterFunc(time.Duration(random.IntN(20_000))*time.Microsecond, cancel)
				if caller%10 == 0 {
					stop.Stop()
				}
				err := <-l.starts(ctx, "a", text)
				stop.Stop()
				cancel()
				var exit *store.Left
				mu.Lock()
				switch {
				case err == nil:
					answered++
				case errors.As(err, &exit):
					left++
				case errors.Is(err, store.ErrUnsent):
					unsent++
				default:
					t.Error(err)
				}
				mu.Unlock()
				if err != nil && caller%10 == 0 {
					t.Errorf("one that stayed: %v", err)
				}
				if exit != nil {
					<-exit.Settled // long before its limit
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 10*callers, unsent+answered+left)
	require.Positive(t, answered)
	require.Positive(t, left)
	seen := l.proxy.Requests(func(r faultproxy.Request) bool { return r.IsScript() && r.SHA() == l.sha })
	require.Equal(t, answered+left, seen, "what was left or answered was sent once, and nothing else")
}

// The first exchange with a node may have a connection that somebody else made, as a cluster is asked for its map, and
// that was forgotten since. It leaves time for another one.
func TestTheFirstExchangeWithANodeLeavesTimeForAnother(t *testing.T) {
	t.Parallel()
	const limit = 6 * time.Second
	l := newLabAt(t, redistest.Shared(t), limit)
	require.NoError(t, l.rdb.Ping(t.Context()).Err())
	l.proxy.On(faultproxy.AnyScript, faultproxy.DropReply)
	ctx, cancel := within(limit)
	defer cancel()
	var timeout net.Error
	require.ErrorAs(t, l.pipe.Process(ctx, echo(ctx, l.sha, "first", "first")), &timeout)
	require.True(t, timeout.Timeout())
	require.NoError(t, ctx.Err(), "there is time left")
	require.NoError(t, l.pipe.Process(ctx, echo(ctx, l.sha, "first", "second")))
}
