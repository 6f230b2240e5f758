package contest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/lock"
)

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = 2 * time.Minute

// Keeper is a client that holds one lock all the time.
type Keeper struct {
	Held   context.Context
	Unlock func() error

	renewals atomic.Int64

	mu     sync.Mutex // guards what follows
	failed []string   // the errors of renewals since the last renewal that succeeded
}

// Keep has a client hold a lock. Open makes the client, with an observer of its own.
func Keep(t *testing.T, open func(*lock.Observer) lock.Provider, name string) *Keeper {
	t.Helper()
	k := &Keeper{}
	c := open(&lock.Observer{Renewed: k.note})
	var err error
	k.Held, k.Unlock, err = c.Lock(name, lock.MaxWait(patience)).Lock(context.Background())
	require.NoError(t, err)
	return k
}

// note counts a renewal that succeeded, and notes the error of a renewal that failed.
func (k *Keeper) note(r lock.Renewal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Err == nil {
		k.failed = nil
		k.renewals.Add(1)
		return
	}
	k.failed = append(k.failed, fmt.Sprint(time.Now().Format(time.StampMilli), ": ", r.Err))
}

// Renewed waits until the lock was renewed as often again.
func (k *Keeper) Renewed(t *testing.T, times int64) {
	t.Helper()
	from := k.renewals.Load()
	servers.Eventually(t, patience, func() bool {
		return k.renewals.Load() >= from+times || k.Held.Err() != nil
	}, "renewals")
	k.mu.Lock()
	defer k.mu.Unlock()
	require.NoError(t, context.Cause(k.Held), "renewals that failed: %q", k.failed)
}
