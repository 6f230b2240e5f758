package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type redislockLibrary struct {
	locker *redislock.Client
	ttl    time.Duration
}

func openRedislock(at site, ttl time.Duration) (library, error) {
	return &redislockLibrary{redislock.New(at.redis()), ttl}, nil
}

// do has the watchdog of the README's section "External watchdog", line by line but for its log.
func (l *redislockLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	lock, err := l.locker.Obtain(ctx, name, l.ttl, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond),
	})
	if err != nil {
		return err
	}
	workCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		t := time.NewTicker(l.ttl / 3)
		defer t.Stop()
		for {
			select {
			case <-workCtx.Done():
				return
			case <-t.C:
				if err := lock.Refresh(workCtx, l.ttl, nil); err != nil {
					cancel()
					return
				}
			}
		}
	}()
	inside(held(workCtx, 0))
	return lock.Release(context.Background())
}

type redsyncLibrary struct{ sync *redsync.Redsync }

func openRedsync(at site, _ time.Duration) (library, error) {
	return &redsyncLibrary{redsync.New(goredis.NewPool(at.redis()))}, nil
}

// do extends the lock every third of its expiry, and relies on Until. The library has no loop of its own.
func (l *redsyncLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	mutex := l.sync.NewMutex(name)
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	var until atomic.Pointer[time.Time]
	see := func() {
		at := mutex.Until()
		until.Store(&at)
	}
	see()
	work, cancel := context.WithCancel(ctx)
	ended := make(chan struct{}) // a Mutex is not for two goroutines at a time
	go func() {
		defer close(ended)
		t := time.NewTicker(time.Until(*until.Load()) / 3)
		defer t.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-t.C:
				if ok, err := mutex.ExtendContext(work); err != nil || !ok {
					cancel()
					return
				}
				see()
			}
		}
	}()
	inside(hold{
		lost: func() bool { return work.Err() != nil || !time.Now().Before(*until.Load()) },
		done: work.Done(),
	})
	cancel()
	<-ended
	ok, err := mutex.Unlock()
	if err == nil && !ok {
		err = errors.New("not unlocked")
	}
	return err
}

type rueidisLibrary struct{ locker rueidislock.Locker }

func openRueidislock(at site, _ time.Duration) (library, error) {
	client := rueidis.ClientOption{InitAddress: []string{at.Addr}}
	if len(at.Sentinels) > 0 {
		client = rueidis.ClientOption{
			InitAddress: at.Sentinels, Sentinel: rueidis.SentinelOption{MasterSet: at.Primary},
		}
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   client,
		KeyMajority:    1,
		NoLoopTracking: true,
	})
	return &rueidisLibrary{locker}, err
}

func (l *rueidisLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	ctx, cancel, err := l.locker.WithContext(ctx, name)
	if err != nil {
		return err
	}
	inside(held(ctx, 0))
	cancel()
	return nil
}

type controlLibrary struct {
	rdb   *redis.Client
	lease time.Duration
}

func openControl(at site, lease time.Duration) (library, error) {
	return &controlLibrary{at.redis(), lease}, nil
}

func (l *controlLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	for {
		got, err := l.rdb.SetNX(ctx, name, 1, l.lease).Result() //nolint:staticcheck // it is what such helpers do
		if err != nil {
			return err
		}
		if got {
			break
		}
		time.Sleep(20 * time.Millisecond) // it has no messages
	}
	inside(hold{lost: func() bool { return false }})
	return l.rdb.Del(ctx, name).Err()
}
