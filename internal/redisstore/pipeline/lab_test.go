package pipeline_test

import (
	"context"
	"fmt"
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

func TestMain(m *testing.M) { redistest.Main(m) }

const patience = 20 * time.Second

// echo is a script call that answers its argument. Its key is where EVALSHA has it.
func echo(ctx context.Context, sha, key string, text any) *redis.Cmd {
	return redis.NewCmd(ctx, "evalsha", sha, 1, key, text)
}

// within returns a context for one call.
func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
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
		Client: rdb, Shard: func(key string) string { return key[:1] }, OneSlot: new(atomic.Bool), Limit: limit,
	})
	t.Cleanup(pipe.Join)
	return &lab{T: t, proxy: proxy, rdb: rdb, sha: sha, pipe: pipe}
}

// starts sends a call in a goroutine.
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

// stuck has all workers of a node in exchanges that are not answered before the gate opens.
func (l *lab) stuck(node string) (gate *faultproxy.Gate, wait func()) {
	gate = faultproxy.NewGate()
	held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate)).Times(pipeline.Workers)
	var wg sync.WaitGroup
	for i := range pipeline.Workers {
		wg.Go(func() {
			ctx, cancel := within(patience)
			defer cancel()
			if err := l.pipe.Process(ctx, echo(ctx, l.sha, node+"stuck", 1)); err != nil {
				l.Error(err)
			}
		})
		held.Wait(l, i+1)
	}
	return gate, wg.Wait
}

// gathered waits until that many calls wait for a node.
func (l *lab) gathered(node string, n int) {
	l.Helper()
	redistest.Eventually(l, patience, func() bool { return l.pipe.Gathered(node) == n }, "they do not gather")
}

// sent is how often a text was sent.
func (l *lab) sent(text string) int {
	return l.proxy.Requests(func(r faultproxy.Request) bool {
		return r.IsScript() && string(r.Args[len(r.Args)-1]) == text
	})
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

func (l *lab) unsettled(left *store.Left) {
	l.Helper()
	select {
	case <-left.Settled:
		l.Fatal("settled without a reply")
	default:
	}
}

// exchanges records how many calls each exchange has.
type exchanges struct {
	mu    sync.Mutex
	sizes []int
}

func (e *exchanges) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e *exchanges) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		e.sent(cmd)
		return next(ctx, cmd)
	}
}

func (e *exchanges) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		e.sent(cmds...)
		return next(ctx, cmds)
	}
}

func (e *exchanges) sent(cmds ...redis.Cmder) {
	if cmds[0].Name() == "evalsha" { // and not the greeting of a new connection
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sizes = append(e.sizes, len(cmds))
	}
}

func (e *exchanges) all() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sizes
}
