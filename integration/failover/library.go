package failover

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// Library is a locker under test.
type Library struct {
	Name string
	Open func(rdb redis.UniversalClient, lease time.Duration) (Client, error)
}

// Client is one process's client of a library.
type Client interface {
	// Lock waits for a name, which is renewed until it is unlocked. An error ends the attempt.
	Lock(ctx context.Context, name string) (Held, error)
	Close() error
}

// Held is a hold. Its methods may be called at any time.
type Held interface {
	// Told is closed when the holder is told of a loss.
	Told() <-chan struct{}
	// Why is what the holder of a lost hold was told.
	Why() error
	// Until is how long the hold may be relied on.
	Until() time.Time
	// Unlock ends it. The error says that it was lost, or that its state is unknown.
	Unlock() error
}

// Ours is this module.
var Ours = oursWith("holdfast", 0)

// Confirming are this module with MinReplicas, for one replica and for both of [SentinelOverTwo].
var Confirming = []Library{oursWith("holdfast, MinReplicas 1", 1), oursWith("holdfast, MinReplicas 2", 2)}

func oursWith(name string, replicas int) Library {
	return Library{Name: name, Open: func(rdb redis.UniversalClient, lease time.Duration) (Client, error) {
		client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
			Lease: lease, MinReplicas: replicas, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		return ours{client}, err
	}}
}

type ours struct{ client *rlock.Client }

func (c ours) Lock(ctx context.Context, name string) (Held, error) {
	lock := rlock.New(c.client, name)
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return &ourHold{lock, held, unlock}, nil
}

func (c ours) Close() error { return c.client.Close() }

type ourHold struct {
	lock   *rlock.Lock
	ctx    context.Context
	unlock func() error
}

func (h *ourHold) Told() <-chan struct{} {
	told := make(chan struct{})
	context.AfterFunc(h.ctx, func() {
		if errors.Is(context.Cause(h.ctx), rlock.ErrLost) {
			close(told)
		}
	})
	return told
}

func (h *ourHold) Why() error { return context.Cause(h.ctx) }

func (h *ourHold) Until() time.Time {
	hold, _ := h.lock.Held(h.ctx)
	return hold.ValidUntil
}

func (h *ourHold) Unlock() error { return h.unlock() }
