package redlock

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// link makes the way to the node's server. Nothing is sent.
//
// Applications give a client of Redis; only this module can make a quorum.Node, and only its tests do. The same
// check decides about a connection of either kind, so the simulation also covers the guard time after a restart.
func (n *node) link(rdb redis.UniversalClient, limits links.Limits) error {
	if at, ok := rdb.(*quorum.Node); ok {
		n.server, n.addr = at.Link(n.check), at.Addr
		return nil
	}
	client, err := links.FromNode(rdb, limits, n.vet)
	if err != nil {
		return err
	}
	n.hub, n.wants = newHubs(n.client, client)
	if tell := n.client.core.Engine.OnCommand(); tell != nil {
		client.AddHook(redisstore.Reporter(n.client.clock, tell))
	}
	n.server, n.addr = redisServer{client}, client.Options().Addr
	return nil
}

// redisServer implements [quorum.Server] by the scripts, which the server carries out one at a time. It is the only
// implementation outside of tests.
type redisServer struct{ rdb *redis.Client }

func (redisServer) Acquire(a luacall.QuorumAcquireArgs) *quorum.Call { return luacall.QuorumAcquire(a) }

func (redisServer) Renew(holds []luacall.QuorumHold, fenceTTL int64) *quorum.Call {
	return luacall.QuorumRenew(holds, fenceTTL)
}

func (redisServer) Release(a luacall.ReleaseArgs) *quorum.Call { return luacall.QuorumRelease(a) }

func (redisServer) Inspect(lock, token, channel string) *quorum.Call {
	return luacall.QuorumInspect(lock, token, channel)
}

func (s redisServer) Send(ctx context.Context, calls []*quorum.Call) {
	luacall.RunAll(ctx, s.rdb, calls)
}

func (s redisServer) Close() error { return s.rdb.Close() }
