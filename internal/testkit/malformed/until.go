package malformed

import (
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// together is how many schedules run at a time: most of them wait.
	together = 4

	// most is how much memory the schedules that run together may have in use. Each can have some connections, and on
	// each a frame that is as long as one may be.
	most = 1 << 30
)

// Until runs schedules for a while, and prints their seeds. HOLDFAST_SEED is the only one to run.
func Until(t *testing.T, d time.Duration) {
	t.Helper()
	first, only := uint64(time.Now().UnixNano())%1e12, false
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		var err error
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%q is no seed: %v", text, err)
		}
		only = true
	}
	// At once, because a panic in a goroutine of go-redis ends the process without a word of the tests.
	fmt.Fprintf(os.Stderr, "malformed: HOLDFAST_SEED=%d and on\n", first)
	servers := Start(t)
	next, end := atomic.Uint64{}, time.Now().Add(d)
	next.Store(first)
	watch := watchMemory()
	var running sync.WaitGroup
	for range together {
		running.Go(func() {
			for ran := 0; time.Now().Before(end) && (!only || ran == 0) && !t.Failed(); ran++ {
				seed := next.Add(1) - 1
				if only {
					seed = first
				}
				what, problems := servers.Schedule(t, seed)
				for _, problem := range problems {
					t.Errorf("HOLDFAST_SEED=%d: %s: %s", seed, what, problem)
				}
			}
		})
	}
	running.Wait()
	peak, ran, answered := watch()>>20, next.Load()-first, servers.answered.Load()
	t.Logf("%d schedules, in %d of them a request was answered so, and a heap of %d MB at most", ran, answered, peak)
	if peak > most>>20 {
		t.Errorf("the heap grew to %d MB", peak)
	}
	if answered < ran/2 && !t.Failed() { // on a busy machine a call may end before it has a connection
		t.Errorf("only %d of %d calls asked the server anything", answered, ran)
	}
}

// watchMemory looks at the heap until its result is called, which returns the peak of what was in use.
func watchMemory() (peak func() uint64) {
	done, told := make(chan struct{}), make(chan uint64)
	go func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for highest := uint64(0); ; {
			metrics.Read(sample)
			highest = max(highest, sample[0].Value.Uint64())
			select {
			case <-done:
				told <- highest
				return
			case <-ticker.C:
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-told
	}
}
