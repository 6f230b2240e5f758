package rlock_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// pods is a cluster of one node, which comes back under other addresses.
type pods struct {
	at    atomic.Value // the address
	rdb   *redis.ClusterClient
	conns *links.Links // of the client of locks

	mu   sync.Mutex // guards open
	open []net.Conn
}

func newPods(t *testing.T) (*pods, *rlock.Client) {
	p, server := &pods{}, redistest.Shared(t)
	p.at.Store("pod-0:6379")
	p.rdb = redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{End: 16383, Nodes: []redis.ClusterNode{{Addr: p.at.Load().(string)}}}}, nil
		},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != p.at.Load() {
				return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError("no such pod: " + addr)}
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, network, server.Addr())
			if err == nil {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.open = append(p.open, conn)
			}
			return conn, err
		},
	})
	t.Cleanup(func() { require.NoError(t, p.rdb.Close()) })
	client, err := rlock.NewClient(p.rdb, conductQuiet(nil))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	core, err := (*redisclient.Client)(client).Core()
	require.NoError(t, err)
	p.conns = core.Conns
	return p, client
}

// moves gives the node another address, and has the client learn of it.
func (p *pods) moves(t *testing.T, to string) {
	p.at.Store(to)
	p.mu.Lock()
	for _, conn := range p.open {
		_ = conn.Close()
	}
	p.open = nil
	p.mu.Unlock()
	none := func(context.Context, *redis.Client) error { return nil }
	require.NoError(t, p.conns.Traffic.(*redis.ClusterClient).ForEachMaster(t.Context(), none)) // reads the map
}

// pipeWorkers counts the goroutines of all pipes.
func pipeWorkers() int {
	dump := make([]byte, 4<<20)
	return bytes.Count(dump[:runtime.Stack(dump, true)], []byte("(*Pipe).work.func1("))
}

// Pods come back under other addresses. What belongs to an address ends when the next one comes, so that a client costs
// no more after months; and an address that returns works again (defect G11). It is not parallel, since it counts
// goroutines.
func TestAClusterWhoseNodesComeBackUnderOtherAddresses(t *testing.T) {
	const addresses, callers = 120, 8
	p, client := newPods(t)
	key, addr, others := redistest.Key(t), "", pipeWorkers()
	for i := range addresses + 2 {
		last := addr
		addr = fmt.Sprintf("pod-%d:6379", i%addresses)
		p.moves(t, addr)
		var all errgroup.Group
		for caller := range callers {
			all.Go(func() error {
				_, unlock, err := rlock.New(client, fmt.Sprint(key, caller)).Lock(conductCtx(t))
				if err != nil {
					return err
				}
				return unlock()
			})
		}
		require.NoError(t, all.Wait(), addr)
		require.True(t, p.conns.Serves(addr))
		require.False(t, p.conns.Serves(last), last)
	}
	redistest.Eventually(t, conductLimit, func() bool { return pipeWorkers() <= others+2*links.Exchanges },
		"workers are left") // the last but one may have served keys still when the last one came
}
