package links

import (
	"context"
	"fmt"
	"reflect"

	"github.com/redis/go-redis/v9"
)

// FromNode derives the client, with one connection, that asks a standalone node for its vote. Vet is called on every
// connection when it is made, after the application's own OnConnect; if it fails, so does the dial. FromNode sends
// nothing.
//
// Clients that route by themselves are refused. Behind Sentinel, on a cluster or in a Ring, go-redis decides anew for
// each command which server gets it, and two "nodes" could be one server.
func FromNode(
	rdb redis.UniversalClient, limits Limits, vet func(ctx context.Context, conn *redis.Conn) error,
) (*redis.Client, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || (v.Kind() == reflect.Pointer && v.IsNil()) {
		return nil, fmt.Errorf("%w: must not be nil", ErrUnsupported)
	}
	single, ok := rdb.(*redis.Client)
	if !ok {
		return nil, fmt.Errorf("%w: must be a *redis.Client of a single server, not a %T", ErrUnsupported, rdb)
	}
	given := single.Options()
	if given.Addr == sentinelAddr {
		return nil, fmt.Errorf("%w: must be a *redis.Client of a single server, not one behind Sentinel",
			ErrUnsupported)
	}
	derived := fromSingle(given, limits)
	defer func() { _ = derived.Traffic.Close() }() // it has not dialled
	o := *derived.Traffic.(*redis.Client).Options()
	o.MaxRetries = -1 // go-redis has turned -1 into 0, which would mean its default now
	o.PoolSize = 1
	connected := o.OnConnect
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		if err := connected(ctx, conn); err != nil {
			return err
		}
		if err := vet(ctx, conn); err != nil {
			return fmt.Errorf("%w", err) // go-redis unwraps one layer
		}
		return nil
	}
	return guarded(redis.NewClient(&o)), nil
}
