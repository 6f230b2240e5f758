package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/pipeline"
)

// moving is a pipe to one node, whose address changes.
type moving struct {
	*pipeline.Pipe
	at atomic.Value // the address
}

func newMoving(client pipeline.Client) *moving {
	m := &moving{}
	oneSlot := &atomic.Bool{}
	oneSlot.Store(true)
	m.Pipe = pipeline.New(pipeline.Config{
		Client: client, OneSlot: oneSlot, Limit: patience,
		Shard:  func(string) string { return m.at.Load().(string) },
		Serves: func(node string) bool { return m.at.Load() == node },
	})
	return m
}

func (m *moving) call() error {
	return m.Process(context.Background(), redis.NewStatusCmd(context.Background(), "evalsha", "sha", 1, "key"))
}

// workers counts those of all pipes.
func workers() int {
	dump := make([]byte, 1<<20)
	return bytes.Count(dump[:runtime.Stack(dump, true)], []byte("(*Pipe).work.func1("))
}

// Nodes come back under other addresses. What belongs to an address that serves nothing any more ends when the next one
// comes, and an address that returns works again (defect G11).
func TestNodesThatWereReplacedEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(silent{})
		defer m.Join()
		for i := range 300 {
			m.at.Store(fmt.Sprint("10.0.0.", i%200, ":6379"))
			require.NoError(t, m.call())
			synctest.Wait()
			require.Equal(t, 1, m.Nodes())
		}
		require.Equal(t, 1, workers())
	})
}

// held answers when its gate is open.
type held struct {
	silent
	gate chan struct{}
}

func (h held) Process(context.Context, redis.Cmder) error { <-h.gate; return nil }

// What has gathered for a node that is replaced is carried out, and Join waits for it (defect G11).
func TestWhatGatheredForANodeThatWasReplacedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		m := newMoving(held{gate: gate})
		results := make(chan error, pipeline.Workers+2)
		call := func() { results <- m.call() }
		m.at.Store("a")
		for range pipeline.Workers + 1 {
			go call()
			synctest.Wait()
		}
		m.at.Store("b")
		go call()
		synctest.Wait()
		require.Equal(t, 1, m.Nodes())
		require.Empty(t, results)
		joined := make(chan struct{})
		go func() {
			m.Join()
			close(joined)
		}()
		synctest.Wait()
		select {
		case <-joined:
			t.Fatal("the workers of the node that was replaced are not waited for")
		default:
		}
		close(gate)
		for range cap(results) {
			require.NoError(t, <-results)
		}
		<-joined
		require.Zero(t, workers())
	})
}

// easy answers everything, without a server.
type easy struct{}

func (easy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (easy) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { return nil }
}

func (easy) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return nil }
}

// A call may find the node of an address, and add to it when that has just been replaced. It is sent all the same
// (defect G11).
func TestACallThatComesAsItsNodeIsReplaced(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{})
	rdb.AddHook(easy{})
	defer func() { require.NoError(t, rdb.Close()) }()
	m := newMoving(rdb)
	m.at.Store("0")
	over := make(chan struct{})
	var moves, calls sync.WaitGroup
	moves.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
				m.at.Store(fmt.Sprint(i % 3))
			}
		}
	})
	for range 8 {
		calls.Go(func() {
			for range 1000 {
				if err := m.call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	calls.Wait()
	close(over)
	moves.Wait()
	require.LessOrEqual(t, m.Nodes(), 3)
	m.Join()
}
