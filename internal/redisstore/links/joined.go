package links

import (
	"context"
	"sync"
)

// joined are the goroutines of an object. They end with ctx, and the end of the object waits for them: none begins
// after end was called.
type joined struct {
	ctx     context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex // guards running against end
	running sync.WaitGroup
}

func (j *joined) init() { j.ctx, j.cancel = context.WithCancel(context.Background()) }

// begin counts one, unless end was called. The goroutine calls running.Done.
func (j *joined) begin() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ctx.Err() != nil {
		return false
	}
	j.running.Add(1)
	return true
}

// run starts one.
func (j *joined) run(fn func()) {
	if j.begin() {
		go func() {
			defer j.running.Done()
			fn()
		}()
	}
}

// end cancels ctx. No goroutine is added any more once it has returned, so running can be waited for.
func (j *joined) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel()
}
