package rlock_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	ownerClients = 100
	ownerHolds   = 100 // of each
)

// ownerProcess is a client as a process of its own would have it, and the ids that its holds had.
type ownerProcess struct {
	locks []*rlock.Lock
	holds []context.Context
	ids   []string
	close func() error
}

func newOwnerProcess(server *redistest.Server, process int) (*ownerProcess, error) {
	rdb := redis.NewClient(server.Options())
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	p := &ownerProcess{close: func() error {
		_ = client.Close() // which releases what is held, and says so
		return rdb.Close()
	}}
	for i := range ownerHolds {
		p.locks = append(p.locks, rlock.New(client, "owner:"+strconv.Itoa(process)+":"+strconv.Itoa(i)))
	}
	return p, nil
}

// take locks everything, and notes whose each hold is.
func (p *ownerProcess) take() error {
	for _, lock := range p.locks {
		ctx, _, err := lock.Lock(context.Background())
		if err != nil {
			return err
		}
		hold, err := lock.Held(ctx)
		if err != nil {
			return err
		}
		p.ids, p.holds = append(p.ids, hold.ID), append(p.holds, ctx)
	}
	return nil
}

// Need 18: many processes start at one moment and hold many locks at a time, and no two holds have one
// id: a name that was made of the time, of a process id or of a seed would be two owners' here. It runs alone, since
// 10,000 acquisitions leave no processor to a test that measures time.
func TestNoTwoOwnersHaveOneID(t *testing.T) {
	server := redistest.Start(t)
	var all sync.WaitGroup
	start := make(chan struct{})
	processes, errs := make([]*ownerProcess, ownerClients), make([]error, ownerClients)
	for i := range processes {
		all.Go(func() {
			<-start
			if processes[i], errs[i] = newOwnerProcess(server, i); errs[i] == nil {
				errs[i] = processes[i].take()
			}
		})
	}
	close(start)
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	t.Cleanup(func() {
		for _, p := range processes {
			require.NoError(t, p.close())
		}
	})
	seen := make(map[string]bool)
	for _, p := range processes {
		for _, id := range p.ids {
			require.False(t, seen[id], "two holds are %s", id)
			seen[id] = true
		}
	}
	require.Len(t, seen, ownerClients*ownerHolds)
	require.Len(t, conductHeldKeys(t, server), ownerClients*ownerHolds)

	// A context of one process is a stranger's to every other: it does not re-enter there.
	ctx, name := processes[0].holds[0], processes[0].locks[0].Name()
	stranger := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), name)
	_, _, err := stranger.TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrBusy)
}

// Need 18: only the context decides re-entry. In one goroutine, a second handle without the hold's context is another
// caller, and with it is the same owner, who unlocks as often as it locked.
func TestReentryGoesByTheContextAlone(t *testing.T) {
	t.Parallel()
	server, key := redistest.Shared(t), redistest.Key(t)
	rdb := server.Client(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{})
	one, two := rlock.New(client, key), rlock.New(client, key)
	first := timeLock(t, t.Context(), one)
	id := timeHeld(t, first.ctx, one).ID
	for _, lock := range []*rlock.Lock{one, two} {
		_, _, err := lock.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy, "the same goroutine is not the same owner")
	}
	second := timeLock(t, first.ctx, two)
	third := timeLock(t, second.ctx, one)
	for left, level := range []timeHold{third, second, first} {
		timeCounts(t, rdb, key, id, 3-left)
		require.NoError(t, level.unlock())
	}
	timeGone(t, rdb, key)
}
