package links

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// topology is what has to be asked once of a cluster.
type topology struct {
	invented bool         // by a cluster client: its map of the slots does not come from a cluster
	seeds    *seeds       // nil: invented, or no cluster
	sharded  atomic.Int32 // kindUnknown until a node answered
	mapped   atomic.Bool  // Traffic has the map of the slots
	shards   shards       // empty until then

	questions singleflight.Group // Ready's
	joined    joined             // the question
}

const (
	kindUnknown = iota
	kindPlain
	kindSharded
)

// Ready asks a cluster for what Known reports, and waits for the answer as long as ctx and limit allow, and until
// Leave. However many callers come, there is one question at a time. It outlives them, and has its own limits for each
// connection that must be made: the next caller may find the answer. An error says that nothing else was sent.
func (l *Links) Ready(ctx context.Context, limit time.Duration) error {
	if !l.Cluster() || l.Known() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(l.left, cancel)()
	shared, err := l.ask(ctx)
	if err != nil && shared && ctx.Err() == nil {
		_, err = l.ask(ctx) // it may have been asked long before
	}
	return err
}

// ask waits for the answer to the question that is under way, or to a new one.
func (l *Links) ask(ctx context.Context) (shared bool, err error) {
	return await(ctx, l.topology.questions.DoChan("", func() (any, error) {
		if !l.topology.joined.begin() {
			return nil, net.ErrClosed
		}
		defer l.topology.joined.running.Done()
		return nil, l.learn()
	}))
}

// Leave has those return who wait for an answer to Ready.
func (l *Links) Leave() {
	if l.Traffic != nil {
		l.leave()
	}
}

// learn is Ready's question. The first map that go-redis asks for tells the kind of the cluster too (see seeds).
func (l *Links) learn() error {
	traffic := l.Traffic.(*redis.ClusterClient)
	if _, err := traffic.MasterForKey(Within(context.Background(), l.command), ""); err != nil {
		if l.topology.seeds != nil {
			err = l.topology.seeds.why(err)
		}
		return err
	}
	if l.topology.seeds == nil {
		kind, err := askKind(Within(context.Background(), l.command), traffic)
		if err != nil {
			return err
		}
		l.topology.noteKind(kind)
	}
	l.topology.mapped.Store(true)
	return nil
}

// noteKind records how releases are published. Nodes of a cluster that is being upgraded may answer differently: the
// first answer counts for all, so one client never publishes in one way and listens in the other.
func (t *topology) noteKind(kind int32) { t.sharded.CompareAndSwap(kindUnknown, kind) }

// end ends what is asked; wait waits for it, once the clients are closed.
func (t *topology) end() {
	t.joined.end()
	if t.seeds != nil {
		t.seeds.joined.end()
	}
}

func (t *topology) wait() {
	t.joined.running.Wait()
	if t.seeds != nil {
		t.seeds.joined.running.Wait()
	}
}

// Known reports whether commands can be sent right away: there are connections, and on a cluster everything
// that has to be asked once is known.
func (l *Links) Known() bool {
	return l.Traffic != nil && (!l.Cluster() || l.topology.sharded.Load() != kindUnknown && l.topology.mapped.Load())
}

// Sharded reports whether releases are published with SPUBLISH. Redisson decides the same way, and both
// sides must agree, because neither kind hears the other: on a cluster whose nodes know PUBSUB SHARDNUMSUB,
// and nowhere else. The first answer is kept; an error means that there was none.
func (l *Links) Sharded(ctx context.Context) (bool, error) {
	if l.Cluster() && l.topology.sharded.Load() == kindUnknown {
		if err := l.Ready(ctx, l.command); err != nil {
			return false, err
		}
	}
	return l.KnownSharded(), nil
}

// KnownSharded is the answer to Sharded; false if there was none yet.
func (l *Links) KnownSharded() bool { return l.topology.sharded.Load() == kindSharded }

// askKind asks a cluster whose map was invented. It may be one of Redis all the same.
func askKind(ctx context.Context, cc *redis.ClusterClient) (int32, error) {
	info, err := cc.Info(ctx, "cluster").Result()
	if err != nil || !strings.Contains(info, "cluster_enabled:1") {
		return kindPlain, err
	}
	return kindOf(cc.Do(ctx, "PUBSUB", "SHARDNUMSUB").Err())
}
