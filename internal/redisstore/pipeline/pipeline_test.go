package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

func TestMain(m *testing.M) { redistest.Main(m) }

const patience = 20 * time.Second

// echo is a script call that answers its argument. Its key is where EVALSHA has it.
func echo(ctx context.Context, sha, key string, text any) *redis.Cmd {
	return redis.NewCmd(ctx, "evalsha", sha, 1, key, text)
}

type lab struct {
	*testing.T
	proxy *faultproxy.Proxy
	rdb   *redis.Client
	pipe  *pipeline.Pipe
	sha   string
}

func newLab(t *testing.T) *lab { return newLabAt(t, redistest.Shared(t), patience) }

func newLabAt(t *testing.T, server *redistest.Server, limit time.Duration) *lab {
	proxy := faultproxy.Start(t, server.Addr())
	given := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	derived, err := links.From(given, links.Limits{Command: limit, Life: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = derived.Close(), given.Close() })
	rdb := derived.Traffic.(*redis.Client)
	sha, err := server.Client(t).ScriptLoad(t.Context(), "return ARGV[1]").Result()
	require.NoError(t, err)
	pipe := pipeline.New(pipeline.Config{
		Client: rdb, Wires: derived.Wires(), Shard: func(key string) string { return key[:1] }, Bundle: true,
		Limit: limit,
	})
	t.Cleanup(pipe.Join)
	return &lab{T: t, proxy: proxy, rdb: rdb, sha: sha, pipe: pipe}
}

// stuck fills what a node nearby may have in flight with commands that are not answered before the gate opens.
func (l *lab) stuck(node string) (gate *faultproxy.Gate, wait func()) {
	l.pipe.Measured(node, time.Microsecond)
	gate = faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.FewInFlight)
	var wg sync.WaitGroup
	for range pipeline.FewInFlight {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := l.pipe.Process(ctx, echo(ctx, l.sha, node+"stuck", 1)); err != nil {
				l.Error(err)
			}
		})
	}
	held.Wait(l, pipeline.FewInFlight)
	return gate, wg.Wait
}

// Every caller gets its own reply, however many share a pipeline.
func TestEveryCommandGetsItsOwnReply(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var wg sync.WaitGroup
	for caller := range 200 {
		wg.Go(func() {
			for turn := range 20 {
				want := fmt.Sprintf("%d/%d", caller, turn)
				cmd := echo(t.Context(), l.sha, "a", want)
				if err := l.pipe.Process(t.Context(), cmd); err != nil || cmd.Val() != want {
					t.Errorf("%v, %v instead of %s", cmd.Val(), err, want)
				}
			}
		})
	}
	wg.Wait()
}

// Commands that gather behind those under way follow in one write; a command that is alone does not wait.
func TestWhatGathersSharesARoundTrip(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	require.NoError(t, l.pipe.Process(t.Context(), echo(t.Context(), l.sha, "a", 1)))
	sizes := &pipelines{}
	gate, wait := l.stuck("a")
	l.rdb.AddHook(sizes)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			cmd := echo(t.Context(), l.sha, "a", i)
			if err := l.pipe.Process(t.Context(), cmd); err != nil || cmd.Val() != fmt.Sprint(i) {
				t.Errorf("%v, %v instead of %d", cmd.Val(), err, i)
			}
		})
	}
	l.gathered("a", 50)
	other := echo(t.Context(), l.sha, "b", "other")
	require.NoError(t, l.pipe.Process(t.Context(), other), "another node is not held up")
	require.Equal(t, "other", other.Val())
	require.Equal(t, 1, sizes.count(), "that of the other node is all that was sent")
	gate.Open()
	wait()
	wg.Wait()
	require.Equal(t, 51, sizes.total())
	require.Less(t, sizes.count(), 10)
}

// A burst to a distant node waits for nothing: waiting for a place would double its round trip. All the same it takes
// few connections. The scheduler may make a burst last so long that it takes all of them before it is over, so some of
// several bursts may wait, but not all.
func TestABurstToADistantNodeDoesNotWaitForAPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipe.Measured("a", 100*time.Millisecond)
	sizes := &pipelines{}
	l.rdb.AddHook(sizes)
	for bursts := 1; ; bursts++ {
		before := sizes.count()
		whole := l.burst(sizes)
		require.LessOrEqual(t, sizes.count()-before, pipeline.ManyInFlight+bursts)
		if whole {
			t.Logf("burst %d was sent as a whole", bursts)
			return
		}
		require.Less(t, bursts, 20, "a part of every burst waits for answers")
	}
}

// burst sends 200 commands together and answers none of them for a while. It reports whether all were sent by then.
func (l *lab) burst(sizes *pipelines) bool {
	const callers = 200
	gate := faultproxy.NewGate()
	l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(callers)
	before := sizes.total()
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			<-begin
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := echo(ctx, l.sha, "a", i)
			if err := l.pipe.Process(ctx, cmd); err != nil {
				l.Error(err)
			} else if cmd.Val() != fmt.Sprint(i) {
				l.Errorf("%v instead of %d", cmd.Val(), i)
			}
		})
	}
	close(begin)
	for end := time.Now().Add(time.Second); sizes.total()-before < callers && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	whole := sizes.total()-before == callers
	gate.Open()
	wg.Wait()
	return whole
}

// pipelines records how many commands each pipeline has. A command that is sent by itself is one.
type pipelines struct {
	mu    sync.Mutex
	sizes []int
}

func (p *pipelines) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sizes)
}

func (p *pipelines) total() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, size := range p.sizes {
		n += size
	}
	return n
}

func (p *pipelines) DialHook(next redis.DialHook) redis.DialHook { return next }
func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.sent(cmd)
		return next(ctx, cmd)
	}
}

func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.sent(cmds...)
		return next(ctx, cmds)
	}
}

func (p *pipelines) sent(cmds ...redis.Cmder) {
	if cmds[0].Name() == "evalsha" { // and not the greeting of a new connection
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sizes = append(p.sizes, len(cmds))
	}
}

// gathered waits until that many commands wait for a node.
func (l *lab) gathered(node string, n int) {
	redistest.Eventually(l, patience, func() bool { return l.pipe.Gathered(node) == n }, "they do not gather")
}

// A broken connection is an error of every command without a reply, and of no other; the next ones get through.
func TestABrokenPipelineIsEverybodysError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	errs := make(chan error, 20)
	var wg sync.WaitGroup
	l.proxy.On(faultproxy.AnyScript, faultproxy.CutBefore).Times(-1)
	for i := range cap(errs) {
		wg.Go(func() { errs <- l.pipe.Process(t.Context(), echo(t.Context(), l.sha, "a", i)) })
	}
	l.gathered("a", cap(errs))
	gate.Open()
	wait()
	wg.Wait()
	close(errs)
	for err := range errs {
		require.Error(t, err)
		require.NotErrorIs(t, err, redis.Nil)
	}
}

// An error from Redis is the error of its command alone.
func TestARefusalIsOneCommandsError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	var wg sync.WaitGroup
	var bad, good error
	wg.Go(func() {
		bad = l.pipe.Process(t.Context(), echo(t.Context(), "0123456789012345678901234567890123456789", "a", 1))
	})
	wg.Go(func() { good = l.pipe.Process(t.Context(), echo(t.Context(), l.sha, "a", 1)) })
	l.gathered("a", 2)
	gate.Open()
	wait()
	wg.Wait()
	require.True(t, redis.HasErrorPrefix(bad, "NOSCRIPT"), bad)
	require.NoError(t, good)
}

// A command whose context has ended by then is not sent, and the others are.
func TestACommandThatNobodyWantsIsNotSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate, wait := l.stuck("a")
	ended, end := context.WithCancel(t.Context())
	late, cancel := context.WithTimeout(t.Context(), 2*time.Second) // they have gathered long before
	defer cancel()
	results := make(map[string]error)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, ctx := range map[string]context.Context{"ended": ended, "late": late, "fine": t.Context()} {
		wg.Go(func() {
			err := l.pipe.Process(ctx, echo(ctx, l.sha, "a", name))
			mu.Lock()
			defer mu.Unlock()
			results[name] = err
		})
	}
	l.gathered("a", 3)
	end()
	<-late.Done()
	gate.Open()
	wait()
	wg.Wait()
	require.ErrorIs(t, results["ended"], store.ErrUnsent)
	require.True(t, errors.Is(results["late"], store.ErrUnsent) || errors.Is(results["late"], store.ErrLate))
	require.NoError(t, results["fine"])
	sent := func(what string) int {
		return l.proxy.Requests(func(r faultproxy.Request) bool {
			return r.IsScript() && string(r.Args[len(r.Args)-1]) == what
		})
	}
	require.Zero(t, sent("ended")+sent("late"))
	require.Equal(t, 1, sent("fine"))
}

// A server that takes long for each command gets short pipelines: the last command of one must be answered
// within a fraction of its time limit.
func TestASlowServerIsNotGivenLongRows(t *testing.T) {
	t.Parallel()
	const each, limit = 50 * time.Millisecond, 1600 * time.Millisecond
	l := newLabAt(t, redistest.Shared(t), limit)
	l.proxy.On(faultproxy.AnyScript, faultproxy.Delay(each)).Times(-1)
	sizes := &pipelines{}
	l.rdb.AddHook(sizes)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 10 {
				_ = l.pipe.Process(t.Context(), echo(t.Context(), l.sha, "a", i))
			}
		})
	}
	wg.Wait()
	longest := int(limit / 8 / each) // the first of them is part of the round trip
	for _, size := range sizes.sizes[len(sizes.sizes)-10:] {
		require.LessOrEqual(t, size, 2*(longest+1))
	}
}
