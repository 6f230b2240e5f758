package multilock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// An observer is told of a set as of one call, with how long its caller waited, and of one hold.
func TestObserver(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	var mu sync.Mutex
	var calls, holds []string
	var waited time.Duration
	c := clientAt(t, server.Addr(), &rlock.ClientOptions{Observer: &rlock.Observer{
		End: func(_ context.Context, call rlock.Call, took time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				calls, waited = append(calls, call.Name), took
			}
		},
		Ended: func(_ context.Context, call rlock.Call, _ time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				holds = append(holds, call.Name)
			}
		},
	}})
	rival, n := clientAt(t, server.Addr(), nil), names(t, 3)
	_, unlockBusy, err := rlock.New(rival, n[1]).Lock(within(t))
	require.NoError(t, err)
	got := lockBeside(within(t), multilock.New(locks(c, n...)))
	waits(t, rlock.New(c, n[1]))
	const wait = 200 * time.Millisecond
	time.Sleep(wait)
	require.NoError(t, unlockBusy())
	o := <-got
	require.NoError(t, o.err)
	require.NoError(t, o.unlock())
	mu.Lock()
	defer mu.Unlock()
	set := []string{strings.Join(n, ",")}
	require.Equal(t, set, calls)
	require.Equal(t, set, holds)
	require.GreaterOrEqual(t, waited, wait)
}
