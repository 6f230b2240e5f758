package multilock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// An observer receives each name once, and how long its caller waited.
func TestObserver(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	var mu sync.Mutex
	acquired, released := make(map[string][]time.Duration), make(map[string]int)
	c := clientAt(t, server.Addr(), &rlock.ClientOptions{Observer: &rlock.Observer{
		Acquired: func(name string, waited time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			acquired[name] = append(acquired[name], waited)
		},
		Released: func(name string, _ time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				released[name]++
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
	redistest.Eventually(t, patience, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(released) == len(n)
	}, "not everything was told to be released")
	mu.Lock()
	defer mu.Unlock()
	for _, name := range n {
		require.Len(t, acquired[name], 1, name)
		require.GreaterOrEqual(t, acquired[name][0], wait, name)
		require.Equal(t, 1, released[name], name)
	}
}
