package redisstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/watchdog"
)

// kind is a kind of locks that are hashes.
type kind int

func (kind) Renew(keys, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.Renew(keys, ids, ttls)
}

// renewed is a lock of a kind that is only renewed.
type renewed struct {
	Protocol
	key  string
	kind kind
}

func (r *renewed) Key() string      { return r.key }
func (r *renewed) Renewer() Renewer { return r.kind }

// The scripts of a batch of renewals are confirmed together, since each confirmation may take a second. What is not
// confirmed counts for none of them; what is gone is told as gone.
func TestABatchOfRenewalsIsConfirmedOnce(t *testing.T) {
	const id, kinds = "11111111-1111-4111-8111-111111111111:1", 5
	server := redistest.Start(t)
	redistest.Replica(t, server)
	rdb := server.Client(t)
	for i := range kinds - 1 {
		key := fmt.Sprint("lock", i)
		require.NoError(t, rdb.HSet(t.Context(), key, id, 1).Err())
		require.NoError(t, rdb.PExpire(t.Context(), key, time.Minute).Err())
	}
	for replicas, confirmed := range map[int]bool{1: true, 2: false} {
		conns, err := links.From(rdb, links.Limits{Command: 3 * time.Second, Life: time.Minute})
		require.NoError(t, err)
		s := New(conns, Confirmation{Replicas: replicas})
		before := server.Calls(t, "wait")
		var all []store.Renewal
		for i := range kinds {
			of := &renewed{key: fmt.Sprint("lock", i), kind: kind(i)}
			all = append(all, store.Renewal{Proto: s.Bind(of), ID: id, TTL: time.Minute})
		}
		s.Renew(s.Within(context.Background(), 3*time.Second), all)
		require.EqualValues(t, before+1, server.Calls(t, "wait"))
		for i, one := range all {
			switch {
			case !confirmed:
				require.ErrorContains(t, one.Err, "1 of 2 replicas")
			case i == kinds-1:
				require.ErrorIs(t, one.Err, watchdog.ErrGone)
			default:
				require.NoError(t, one.Err)
			}
		}
		s.HangUp()
	}
}
