package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/observe/prometheus"
	"github.com/holdfast-go/holdfast/observe/prometheus/internal/recording"
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
	locks    locks
	close    func() error // closes what the locks are made of
	registry *client.Registry
	end      context.CancelFunc
	work     sync.WaitGroup
	tape     recording.Tape
}

func start(name string, of server, addr string, scope recording.Scope) (*program, error) {
	p := &program{name: name, registry: client.NewRegistry()}
	p.tape = recording.Tape{Job: name, Instance: "a", Scope: scope}
	m := prometheus.New(prometheus.Options{})
	if err := p.registry.Register(m); err != nil {
		return nil, err
	}
	var err error
	if p.locks, p.close, err = of.connect(addr, m.Observer()); err != nil {
		return nil, err
	}
	m.Track(p.locks)
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	if name == holds {
		p.work.Go(func() { p.hold(ctx) })
		return p, nil
	}
	for i := range workers {
		p.work.Go(func() { p.call(ctx, i) })
	}
	return p, nil
}

// call calls every second, and works for a moment when it holds.
func (p *program) call(ctx context.Context, worker int) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for ctx.Err() == nil {
		var unlock func() error
		var err error
		if p.name == tries {
			_, unlock, err = p.locks.Lock(fmt.Sprintf("try:%d", worker)).TryLock(ctx)
		} else {
			_, unlock, err = p.locks.Lock(fmt.Sprintf("wait:%d", worker), lock.MaxWait(100*time.Millisecond)).Lock(ctx)
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
func (p *program) hold(ctx context.Context) {
	for ctx.Err() == nil {
		held, unlock, err := p.locks.Lock("nightly").Lock(ctx)
		if err == nil {
			<-held.Done()
			_ = unlock() // says that it was lost
		}
	}
}

func (p *program) stop() error {
	p.end()
	p.work.Wait()
	return errors.Join(p.locks.Close(), p.close())
}
