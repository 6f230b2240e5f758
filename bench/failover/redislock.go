package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/integration/failover"
)

// poll is the pause between two attempts that bsm/redislock's own examples take.
const poll = 100 * time.Millisecond

var errLost = errors.New("the lock was lost")

// peers is bsm/redislock, with the loop around Refresh that a holder for longer has to write: every third
// of a lease, again after an error that may pass, and with an end when Redis says that the lock is gone or the
// lease must be over.
var peers = failover.Library{Name: "bsm/redislock", Open: func(
	rdb redis.UniversalClient, lease time.Duration,
) (failover.Client, error) {
	return &peer{redislock.New(rdb), lease}, nil
}}

type peer struct {
	locker *redislock.Client
	lease  time.Duration
}

func (p *peer) Lock(ctx context.Context, name string) (failover.Held, error) {
	// The library waits for as long as the lease, unless the context says otherwise.
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	lock, err := p.locker.Obtain(ctx, name, p.lease, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(poll),
	})
	if err != nil {
		return nil, err
	}
	h := &peerHold{lock: lock, lease: p.lease, told: make(chan struct{})}
	h.until = time.Now().Add(p.lease)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.keeping.Go(h.keep)
	return h, nil
}

func (p *peer) Close() error { return nil }

type peerHold struct {
	lock    *redislock.Lock
	lease   time.Duration
	told    chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	keeping sync.WaitGroup

	mu    sync.Mutex // guards until
	until time.Time
}

func (h *peerHold) keep() {
	for pause := h.lease / 3; ; {
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(pause):
		}
		start := time.Now()
		ctx, cancel := context.WithDeadline(h.ctx, h.Until())
		err := h.lock.Refresh(ctx, h.lease, nil)
		cancel()
		switch {
		case h.ctx.Err() != nil:
			return
		case err == nil:
			pause = h.lease / 3
			h.mu.Lock()
			h.until = start.Add(h.lease)
			h.mu.Unlock()
		case errors.Is(err, redislock.ErrNotObtained), !time.Now().Before(h.Until()):
			close(h.told)
			return
		default:
			pause = min(poll, time.Until(h.Until()))
		}
	}
}

func (h *peerHold) Told() <-chan struct{} { return h.told }

func (h *peerHold) Why() error {
	select {
	case <-h.told:
		return errLost
	default:
		return nil
	}
}

func (h *peerHold) Until() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

func (h *peerHold) Unlock() error {
	h.cancel()
	h.keeping.Wait()
	if err := h.Why(); err != nil {
		return err
	}
	return h.lock.Release(context.Background())
}
