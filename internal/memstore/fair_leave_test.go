package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// farOff is a network on which the releases of client 1 take their time before the server reads them.
type farOff time.Duration

func (f farOff) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Client == 1 && r.Kind == memstore.Release {
		fate.Before = time.Duration(f)
	}
	return fate
}

// A waiter whose call has returned has no place any more: a third client is not refused because of it. Where the store
// does not answer, the call returns all the same (defect G62).
func TestAFairWaiterHasLeftWhenItsCallReturns(t *testing.T) {
	t.Parallel()
	const wait = 50 * time.Millisecond
	for _, c := range []struct {
		name string
		trip time.Duration
		gone bool
	}{{"near", 0, true}, {"far", 3 * time.Millisecond, true}, {"silent", minute, false}} {
		for name, ends := range map[string]func(l *rlock.Lock) error{
			"deadline": func(l *rlock.Lock) error {
				ctx, cancel := context.WithTimeout(context.Background(), wait)
				defer cancel()
				_, _, err := l.Lock(ctx)
				return err
			},
			"canceled": func(l *rlock.Lock) error {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				time.AfterFunc(wait, cancel)
				_, _, err := l.Lock(ctx)
				return err
			},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server := memstore.NewServer(farOff(c.trip))
					defer server.Close()
					var locks []*rlock.Lock
					for i := range 3 {
						client, _ := open(t, server, i, true, minute)
						defer func() { _ = client.Close() }()
						locks = append(locks, fairlock.New(client, "a"))
					}
					_, unlock, err := locks[0].Lock(context.Background())
					require.NoError(t, err)
					began := time.Now()
					require.ErrorIs(t, ends(locks[1]), rlock.ErrBusy)
					require.LessOrEqual(t, time.Since(began), 2*wait)
					require.NoError(t, unlock())
					_, unlock, err = locks[2].TryLock(context.Background())
					if !c.gone {
						require.ErrorIs(t, err, rlock.ErrBusy)
						return
					}
					require.NoError(t, err)
					require.NoError(t, unlock())
				})
			})
		}
	}
}
