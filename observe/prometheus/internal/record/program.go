package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/observe/prometheus"
	"github.com/holdfast-go/holdfast/observe/prometheus/internal/recording"
	"github.com/holdfast-go/holdfast/rlock"
)

// The programs, which are the jobs of a Prometheus. The first two make three calls a second; the last one takes a lock
// and keeps it for as long as it can.
const (
	tries = "tries"
	waits = "waits-briefly"
	holds = "holds"
)

const workers = 3

// program is a program that locks.
type program struct {
	name     string
	rdb      *redis.Client
	locks    *rlock.Client
	registry *client.Registry
	end      context.CancelFunc
	work     sync.WaitGroup
	tape     recording.Tape
}

func start(name, addr string, path *netfault.Path, scope recording.Scope) (*program, error) {
	p := &program{name: name, registry: client.NewRegistry()}
	p.tape = recording.Tape{Job: name, Instance: "a", Scope: scope, Class: func(class string) string {
		return strings.TrimSuffix(class, ":*") // which tells the outages apart
	}}
	m := prometheus.New(prometheus.Options{})
	if err := p.registry.Register(m); err != nil {
		return nil, err
	}
	p.rdb = redis.NewClient(&redis.Options{Addr: addr, Dialer: path.Dial})
	var err error
	p.locks, err = rlock.NewClient(p.rdb, &rlock.ClientOptions{Observer: m.Observer()})
	if err != nil {
		return nil, errors.Join(err, p.rdb.Close())
	}
	m.Track(p.locks)
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	if name == holds {
		// The outages have one Redis, so the names are the path's own.
		p.work.Go(func() { p.hold(ctx, fmt.Sprintf("nightly:%p", path)) })
		return p, nil
	}
	for i := range workers {
		p.work.Go(func() { p.call(ctx, fmt.Sprintf(":%d:%p", i, path)) })
	}
	return p, nil
}

// call calls every second, and works for a moment when it holds.
func (p *program) call(ctx context.Context, name string) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for ctx.Err() == nil {
		var unlock func() error
		var err error
		if p.name == tries {
			_, unlock, err = rlock.New(p.locks, "try"+name).TryLock(ctx)
		} else {
			_, unlock, err = rlock.New(p.locks, "wait"+name, lock.MaxWait(100*time.Millisecond)).Lock(ctx)
		}
		if err == nil {
			time.Sleep(20 * time.Millisecond)
			_ = unlock() // in an outage it is not confirmed
		}
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// hold takes a lock again whenever it was lost.
func (p *program) hold(ctx context.Context, name string) {
	for ctx.Err() == nil {
		held, unlock, err := rlock.New(p.locks, name).Lock(ctx)
		if err == nil {
			<-held.Done()
			_ = unlock() // says that it was lost
		}
	}
}

func (p *program) stop() error {
	p.end()
	p.work.Wait()
	return errors.Join(p.locks.Close(), p.rdb.Close())
}
