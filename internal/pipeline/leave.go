package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/store"
)

// single sends a command by itself.
func (p *Pipe) single(ctx context.Context, n *node, cmd redis.Cmder, x *exit) error {
	was := sent{node: n, began: time.Now(), n: 1}
	if x == nil {
		err := p.cfg.Client.Process(ctx, cmd)
		was.answer = replied(err)
		p.next(was, nil, false)
		return err
	}
	stop := context.AfterFunc(ctx, x.watched)
	err := p.cfg.Client.Process(ctx, cmd)
	was.answer = replied(err)
	wire := x.land()
	if stop() {
		x.watch.Done()
	}
	x.watch.Wait()
	if wire == nil || !wire.Ended(x.at) {
		p.next(was, x, false)
		return err
	}
	settled := make(chan struct{})
	p.running.Go(func() {
		wire.Settle()
		p.next(was, x, false)
		close(settled)
	})
	if err == nil {
		return nil
	}
	return &store.Left{Settled: settled}
}

// exit lets the caller of a single command leave.
type exit struct {
	wires   *links.Wires
	watched func()         // runs when the context ends
	watch   sync.WaitGroup // waits for that

	mu     sync.Mutex // guards all below
	ctx    context.Context
	landed bool // the call has returned
	wire   *links.Wire
	at     time.Time // the deadline by which wire was found
}

// newExitLocked returns nil for a caller that cannot leave.
func (p *Pipe) newExitLocked(ctx context.Context) (*exit, error) {
	if ctx.Done() == nil {
		return nil, nil
	}
	select {
	case <-p.ending:
		return nil, store.ErrUnsent
	default:
	}
	var x *exit
	if last := len(p.spare) - 1; last >= 0 {
		x, p.spare = p.spare[last], p.spare[:last]
	} else {
		x = &exit{wires: p.cfg.Wires}
		x.watched = func() {
			defer x.watch.Done()
			x.leave()
		}
	}
	x.watch.Add(1)
	x.ctx, x.landed, x.wire = ctx, false, nil
	p.exits[x] = struct{}{}
	return x, nil
}

// putExitLocked keeps an exit for another command, unless [Pipe.End] may have found it.
func (p *Pipe) putExitLocked(x *exit) {
	delete(p.exits, x)
	select {
	case <-p.ending:
	default:
		if len(p.spare) < alone {
			p.spare = append(p.spare, x)
		}
	}
}

// leave makes the call return. Its connection may not have been found yet.
func (x *exit) leave() {
	for pause := firstLook; !x.try(); pause = min(2*pause, lastLook) {
		time.Sleep(pause) // bounded by the command's deadline
	}
}

const (
	firstLook = 20 * time.Microsecond
	lastLook  = time.Millisecond
)

// try reports that nothing is left to do.
func (x *exit) try() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.landed || x.wire != nil {
		return true
	}
	x.wire, x.at = x.wires.LeaveCall(x.ctx)
	return x.wire != nil
}

// land ends the search for the connection, and returns it if it was found.
func (x *exit) land() *links.Wire {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ctx, x.landed = nil, true
	return x.wire
}
