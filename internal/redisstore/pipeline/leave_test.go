package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/pipeline"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// within returns a context for one command, with a unique deadline.
func within(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(d))
	return ctx, cancel
}

// starts sends a command in a goroutine.
func (l *lab) starts(ctx context.Context, key, text string) <-chan error {
	result := make(chan error, 1)
	go func() {
		cmd := echo(ctx, l.sha, key, text)
		err := l.pipe.Process(ctx, cmd)
		if err == nil && cmd.Val() != text {
			err = fmt.Errorf("%v instead of %s", cmd.Val(), text)
		}
		result <- err
	}()
	return result
}

func (l *lab) left(result <-chan error) *store.Left {
	l.Helper()
	var left *store.Left
	err := redistest.Receive(l, patience, result, "it does not leave")
	require.ErrorAs(l, err, &left)
	return left
}

func (l *lab) settles(left *store.Left) {
	l.Helper()
	redistest.Receive(l, patience, left.Settled, "it is never settled")
}

// A caller that leaves returns at once. The reply shows that the command was carried out, and until then it counts as
// under way.
func TestACommandIsLeftAndSettles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.FewInFlight)
	var exits []*store.Left
	for i := range pipeline.FewInFlight {
		ctx, cancel := within(patience)
		result := l.starts(ctx, "a", "left")
		held.Wait(t, i+1)
		cancel()
		exits = append(exits, l.left(result))
	}
	waits := l.starts(context.Background(), "a", "next")
	l.gathered("a", 1)
	for _, left := range exits {
		select {
		case <-left.Settled:
			t.Fatal("settled without a reply")
		default:
		}
	}
	gate.Open()
	for _, left := range exits {
		l.settles(left)
	}
	require.NoError(t, <-waits)
}

// A server that never answers settles nothing; the command's time limit does.
func TestWhatIsLeftSettlesAtItsDeadline(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	require.NoError(t, <-l.starts(context.Background(), "a", "first"))
	l.proxy.Blackhole(true)
	end := time.Now().Add(time.Second)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	result := l.starts(ctx, "a", "lost")
	redistest.Eventually(t, patience, func() bool {
		return l.proxy.Requests(func(r faultproxy.Request) bool { return string(r.Args[len(r.Args)-1]) == "lost" }) == 1
	}, "it is not sent")
	cancel()
	left := l.left(result)
	l.settles(left)
	require.False(t, time.Now().Before(end))
	l.proxy.Blackhole(false)
	require.NoError(t, <-l.starts(context.Background(), "a", "second"))
}

// One caller leaves a pipeline, and the others stay.
func TestAPipelineIsLeftByOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	ctx, cancel := within(patience)
	defer cancel()
	goes := l.starts(ctx, "a", "goes")
	l.gathered("a", 1)
	stays := l.starts(context.Background(), "a", "stays")
	l.gathered("a", 2)
	second := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(second)).Times(2)
	gate.Open()
	wait()
	held.Wait(t, 1)
	cancel()
	left := l.left(goes)
	second.Open()
	require.NoError(t, <-stays)
	l.settles(left)
}

// When the owner ends, the callers that can leave do, and the others get their replies.
func TestEndLetsThoseLeaveWhoCan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.FewInFlight)
	ctx, cancel := within(patience)
	defer cancel()
	goes := []<-chan error{l.starts(ctx, "a", "1")}
	var stays []<-chan error
	for range pipeline.FewInFlight - 1 {
		stays = append(stays, l.starts(context.Background(), "a", "stays"))
	}
	held.Wait(t, pipeline.FewInFlight)
	ctx, cancel = within(patience)
	defer cancel()
	gathers := l.starts(ctx, "a", "4")
	stays = append(stays, l.starts(context.Background(), "a", "5"))
	l.gathered("a", 2)
	l.pipe.End()
	require.ErrorIs(t, <-gathers, store.ErrUnsent)
	left := l.left(goes[0])
	gate.Open()
	for _, stay := range stays {
		require.NoError(t, <-stay)
	}
	l.settles(left)
	ctx, cancel = within(patience)
	defer cancel()
	require.ErrorIs(t, <-l.starts(ctx, "a", "6"), store.ErrUnsent)
	require.NoError(t, <-l.starts(context.Background(), "a", "7"))
}

// Contexts that end at any moment disturb no other call: a connection that was left is not used again, and one whose
// exchange was almost left goes on.
func TestLeavingDisturbsNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	left, answered := 0, 0
	missing := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0 || answered == 0
	}
	for caller := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			for turn, end := 0, time.Now().Add(patience); turn < 300 || missing() && time.Now().Before(end); turn++ {
				ctx, cancel := within(patience)
				stop := time.AfterFunc(time.Duration(random.IntN(400))*time.Microsecond, cancel)
				err := <-l.starts(ctx, "a", "may leave")
				stop.Stop()
				cancel()
				var exit *store.Left
				mu.Lock()
				switch {
				case err == nil:
					answered++
				case errors.As(err, &exit):
					left++
				case !errors.Is(err, store.ErrUnsent) && !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 1000 {
				if err := <-l.starts(context.Background(), "a", "stays"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Positive(t, left)
	require.Positive(t, answered)
}
