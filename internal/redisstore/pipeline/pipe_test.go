package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/pipeline"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Every caller gets its own reply, however many share an exchange, and every call is sent once.
func TestEveryCallIsSentOnceAndGetsItsOwnReply(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const callers, turns = 200, 20
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for turn := range turns {
				want := fmt.Sprintf("%d/%d", caller, turn)
				cmd := echo(t.Context(), l.sha, "a", want)
				if err := l.pipe.Process(t.Context(), cmd); err != nil || cmd.Val() != want {
					t.Errorf("%v, %v instead of %s", cmd.Val(), err, want)
				}
			}
		})
	}
	wg.Wait()
	times := make(map[string]int)
	l.proxy.Requests(func(r faultproxy.Request) bool {
		if r.IsScript() {
			times[string(r.Args[len(r.Args)-1])]++
		}
		return false
	})
	require.Len(t, times, callers*turns)
	for text, n := range times {
		require.Equal(t, 1, n, text)
	}
}

// A call that is alone waits for no company, as long as a worker is free.
func TestACallAloneIsSentAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.Workers)
	var results []<-chan error
	for i := range pipeline.Workers {
		results = append(results, l.starts(context.Background(), "a", fmt.Sprint(i)))
		held.Wait(t, i+1)
	}
	gate.Open()
	for _, result := range results {
		require.NoError(t, <-result)
	}
	require.NoError(t, <-l.starts(context.Background(), "a", "by one that was parked"))
}

// While all workers are out calls gather, and follow in as few exchanges as hold them. Another node is not held up.
func TestWhatGathersSharesAnExchange(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	sizes := &exchanges{}
	l.rdb.AddHook(sizes)
	const callers = pipeline.Most + 50
	var results []<-chan error
	for i := range callers {
		results = append(results, l.starts(t.Context(), "a", fmt.Sprint(i)))
	}
	l.gathered("a", callers)
	require.NoError(t, <-l.starts(t.Context(), "b", "another node"))
	require.Equal(t, []int{1}, sizes.all(), "that of the other node is all that was sent")
	gate.Open()
	wait()
	for _, result := range results {
		require.NoError(t, <-result)
	}
	require.ElementsMatch(t, []int{1, pipeline.Most, 50}, sizes.all())
}

// Calls with long arguments share an exchange only up to its size. One that is longer is sent alone.
func TestAnExchangeHasASize(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	sizes := &exchanges{}
	l.rdb.AddHook(sizes)
	var results []<-chan error
	for i, size := range []int{2 * pipeline.MostBytes, pipeline.MostBytes / 3, pipeline.MostBytes / 3, pipeline.MostBytes / 2} {
		results = append(results, l.starts(t.Context(), "a", strings.Repeat("x", size)))
		l.gathered("a", i+1)
	}
	gate.Open()
	wait()
	for _, result := range results {
		require.NoError(t, <-result)
	}
	got := sizes.all()
	slices.Sort(got)
	require.Equal(t, []int{1, 1, 2}, got)
}

// A broken connection is an error of every call of its exchange, and of no other; each may have been carried out, and
// none is sent again. The next ones get through.
func TestABrokenExchangeFailsItsOwnCalls(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	others, wait := l.stuck("b") // they are under way meanwhile, and stay well
	gate, waits := l.stuck("a")
	const callers = 20
	var results []<-chan error
	for i := range callers {
		results = append(results, l.starts(t.Context(), "a", fmt.Sprint("lost", i)))
	}
	l.gathered("a", callers)
	cut := l.proxy.On(faultproxy.AnyScript, faultproxy.CutAfter).Times(1)
	gate.Open()
	waits()
	for _, result := range results {
		err := redistest.Receive(t, patience, result, "it is never answered")
		require.Error(t, err)
		require.Equal(t, store.FaultAmbiguous, store.FaultOf(err))
	}
	cut.Wait(t, 1)
	for i := range callers {
		require.LessOrEqual(t, l.sent(fmt.Sprint("lost", i)), 1)
	}
	others.Open()
	wait()
	require.NoError(t, <-l.starts(t.Context(), "a", "next"))
}

// An error from Redis is the error of its call alone.
func TestARefusalIsOneCallsError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	bad := make(chan error, 1)
	go func() {
		bad <- l.pipe.Process(t.Context(), echo(t.Context(), "0123456789012345678901234567890123456789", "a", 1))
	}()
	good := l.starts(t.Context(), "a", "good")
	l.gathered("a", 2)
	gate.Open()
	wait()
	require.True(t, redis.HasErrorPrefix(<-bad, "NOSCRIPT"))
	require.NoError(t, <-good)
}

// poison is an argument that makes go-redis panic.
type poison struct{}

func (poison) MarshalBinary() ([]byte, error) { panic("poison") }

// A panic in go-redis is an error of the exchange that it happens in, alone or not.
func TestAPanicIsAnErrorOfItsExchange(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	err := l.pipe.Process(t.Context(), echo(t.Context(), l.sha, "a", poison{}))
	require.ErrorContains(t, err, "poison")
	require.Equal(t, store.FaultAmbiguous, store.FaultOf(err))
	gate, wait := l.stuck("a")
	bad := make(chan error, 1)
	go func() { bad <- l.pipe.Process(t.Context(), echo(t.Context(), l.sha, "a", poison{})) }()
	with := l.starts(t.Context(), "a", "with it")
	l.gathered("a", 2)
	gate.Open()
	wait()
	require.ErrorContains(t, <-bad, "poison")
	require.ErrorContains(t, <-with, "poison")
	require.NoError(t, <-l.starts(t.Context(), "a", "next"))
}

// An exchange without an answer is no refusal of its calls, whatever the error of the whole is.
func TestACallWithoutAnAnswerIsNotRefused(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"what another was told": errRefused, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			pipe := pipeline.New(pipeline.Config{
				Client: silent{failure}, Shard: func(string) string { return "" }, Limit: patience, OneSlot: new(atomic.Bool),
			})
			defer pipe.Join()
			err := pipe.Process(t.Context(), echo(t.Context(), "sha", "a", 1))
			require.Error(t, err)
			require.NotErrorIs(t, err, errRefused)
		})
	}
}

var errRefused = redisError("ERR refused")

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// silent answers no command.
type silent struct{ failure error }

func (s silent) Process(context.Context, redis.Cmder) error { return s.failure }
func (silent) Pipeline() redis.Pipeliner                    { panic("nothing gathers") }

// Join ends the workers of all nodes when what they have is answered. Nothing is sent after it.
func TestJoinEndsAllWorkers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	gathered := l.starts(context.Background(), "a", "gathered")
	l.gathered("a", 1)
	require.NoError(t, <-l.starts(context.Background(), "b", "its worker is parked"))
	joined := make(chan struct{})
	go func() {
		l.pipe.Join()
		close(joined)
	}()
	redistest.Eventually(t, patience, func() bool {
		return errors.Is(<-l.starts(context.Background(), "b", "after it"), store.ErrUnsent)
	}, "it is not over")
	select {
	case <-joined:
		t.Fatal("workers are in exchanges")
	default:
	}
	gate.Open()
	wait()
	require.NoError(t, <-gathered)
	redistest.Receive(t, patience, joined, "a worker is left")
	require.ErrorIs(t, <-l.starts(context.Background(), "a", "after it"), store.ErrUnsent)
}
