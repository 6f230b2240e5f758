package links

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// topology is what has to be asked once of a cluster.
type topology struct {
	invented bool         // by a cluster client: its map of the slots does not come from a cluster
	sharded  atomic.Int32 // kindUnknown until a node answered
	mapped   atomic.Bool  // Renewal has the map of the slots

	questions singleflight.Group // Ready's
}

const (
	kindUnknown = iota
	kindPlain
	kindSharded
)

// Ready asks a cluster for what Known reports. However many callers come, each question is asked once; so it goes on
// when the caller that asks it is no longer there, for as long as a command may take.
func (l *Links) Ready(ctx context.Context, limit time.Duration) error {
	cc, ok := l.Renewal.(*redis.ClusterClient)
	if !ok || l.Known() {
		return nil
	}
	_, err, _ := l.topology.questions.Do("", func() (any, error) {
		all := context.WithoutCancel(ctx)
		if _, err := l.Sharded(Within(all, limit)); err != nil {
			return nil, err
		}
		_, err := cc.MasterForKey(Within(all, limit), "")
		l.topology.mapped.Store(err == nil)
		return nil, err
	})
	return err
}

// Known reports whether commands can be sent right away: there are connections, and on a cluster everything
// that has to be asked once is known.
func (l *Links) Known() bool {
	return l.Traffic != nil && (!l.Cluster() || l.topology.sharded.Load() != kindUnknown && l.topology.mapped.Load())
}

// Sharded reports whether releases are published with SPUBLISH. Redisson decides the same way, and both
// sides must agree, because neither kind hears the other: on a cluster whose nodes know PUBSUB SHARDNUMSUB,
// and nowhere else. The first answer is kept; an error means that there was none.
//
// Several goroutines may ask at once, and nodes of a cluster that is being upgraded may answer differently. The
// first answer to be stored counts for all of them, so one client never publishes in one way and listens in the
// other.
func (l *Links) Sharded(ctx context.Context) (bool, error) {
	cc, ok := l.Traffic.(*redis.ClusterClient)
	if !ok {
		return false, nil
	}
	if kind := l.topology.sharded.Load(); kind != kindUnknown {
		return kind == kindSharded, nil
	}
	kind, err := l.askKind(ctx, cc)
	if err != nil {
		return false, err
	}
	l.topology.sharded.CompareAndSwap(kindUnknown, kind)
	return l.KnownSharded(), nil
}

// KnownSharded is the answer to Sharded; false if there was none yet.
func (l *Links) KnownSharded() bool { return l.topology.sharded.Load() == kindSharded }

func (l *Links) askKind(ctx context.Context, cc *redis.ClusterClient) (int32, error) {
	if l.topology.invented {
		info, err := cc.Info(ctx, "cluster").Result()
		if err != nil || !strings.Contains(info, "cluster_enabled:1") {
			return kindPlain, err
		}
	}
	err := cc.Do(ctx, "PUBSUB", "SHARDNUMSUB").Err()
	switch {
	case err == nil:
		return kindSharded, nil
	case unknownCommand(err):
		return kindPlain, nil
	}
	return kindUnknown, err
}

// unknownCommand reports that a node lacks a command, or forbids it. All other errors mean that it cannot answer now.
func unknownCommand(err error) bool {
	var refused redis.Error
	return errors.As(err, &refused) && strings.HasPrefix(refused.Error(), "ERR ") ||
		redis.IsPermissionError(err)
}
