package redisstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// permits are locks whose holds have so many entries each.
type permits int

func (p permits) Entries() int { return int(p) }

func (p permits) Renew(keys, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.PermitRenew(keys, ids, int64(p), ttls)
}

type permitsRenewed struct {
	Protocol
	permits
}

func (p *permitsRenewed) Key() string      { return "semaphore" }
func (p *permitsRenewed) Renewer() Renewer { return p.permits }

// pipelines records how many commands each pipeline of a client has.
type pipelines struct{ sizes []int }

func (p *pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.sizes = append(p.sizes, len(cmds))
		return next(ctx, cmds)
	}
}

// A script renews up to 2,000 permits, or one hold, and a round trip as many as a hold may have; of plain holds it
// renews 256, and a round trip all (defect B16).
func TestWhatARoundTripRenewsIsBounded(t *testing.T) {
	conns, err := links.From(redistest.Start(t).Client(t), links.Limits{Command: 3 * time.Second, Life: time.Minute})
	require.NoError(t, err)
	s := New(conns, Confirmation{})
	s.Start(store.Host{Limit: 3 * time.Second})
	t.Cleanup(s.HangUp)
	record := &pipelines{}
	s.links.Traffic.(*redis.Client).AddHook(record)
	trips := func(holds int, of Protocol) []int {
		all := make([]store.Renewal, holds)
		for range 2 { // the first time Redis does not know the script
			record.sizes = nil
			for i := range all {
				all[i] = store.Renewal{Proto: s.Bind(of), ID: fmt.Sprint("id:", i), TTL: time.Minute}
			}
			s.Renew(s.Within(t.Context(), 3*time.Second), all)
			for _, one := range all {
				require.ErrorIs(t, one.Err, watchdog.ErrGone) // nobody has anything
			}
		}
		return record.sizes
	}
	require.Equal(t, []int{16}, trips(4096, &renewed{key: "lock"}))
	require.Equal(t, []int{16}, trips(4096, &permitsRenewed{permits: 1}))
	require.Equal(t, []int{4}, trips(12, &permitsRenewed{permits: 666}), "three holds in a script")
	require.Equal(t, []int{5, 5, 3}, trips(25, &permitsRenewed{permits: 1000}), "two holds in a script")
	require.Equal(t, []int{4, 4, 1}, trips(9, &permitsRenewed{permits: 2001}), "one hold in a script")
	require.Equal(t, []int{1, 1, 1}, trips(3, &permitsRenewed{permits: luacall.MaxPermits}))
}

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
		s.Start(store.Host{Limit: 3 * time.Second})
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
