package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/zklock"
)

// oursLibrary is a client of this module, whatever its store.
type oursLibrary struct {
	locks       lock.Provider
	contextOnly bool // a holder looks at its context and does not ask Held
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func openRlock(contextOnly bool, replicas int) func(site, time.Duration) (library, error) {
	return func(at site, lease time.Duration) (library, error) {
		client, err := rlock.NewClient(at.redis(), &rlock.ClientOptions{
			Lease: lease, MinReplicas: replicas, Logger: quiet(),
		})
		return &oursLibrary{client, contextOnly}, err
	}
}

func openPglock(at site, lease time.Duration) (library, error) {
	pool, err := pgxpool.New(context.Background(), postgresURL(at.Addr))
	if err != nil {
		return nil, err
	}
	client, err := pglock.NewClient(pool, &pglock.Options{Lease: lease, Logger: quiet()})
	return &oursLibrary{locks: client}, err
}

func openEtcdlock(at site, lease time.Duration) (library, error) {
	etcd, err := newEtcd(at.Addr)
	if err != nil {
		return nil, err
	}
	client, err := etcdlock.NewClient(etcd, &etcdlock.Options{Lease: lease, Logger: quiet()})
	return &oursLibrary{locks: client}, err
}

func openZklock(at site, lease time.Duration) (library, error) {
	client, err := zklock.NewClient([]string{at.Addr}, &zklock.Options{Lease: lease, Logger: quiet()})
	return &oursLibrary{locks: client}, err
}

func (l *oursLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	of := l.locks.Lock(name)
	ctx, unlock, err := of.Lock(ctx)
	if err != nil {
		return err
	}
	h := held(ctx, 0)
	if it, err := of.Held(ctx); err == nil {
		h.token = it.Fence
	}
	if !l.contextOnly {
		h.lost = func() bool {
			_, err := of.Held(ctx)
			return err != nil
		}
	}
	inside(h)
	return unlock()
}
