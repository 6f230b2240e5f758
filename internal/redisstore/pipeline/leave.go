package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/store"
)

// single sends a command by itself.
//
// A context that ends while Process is at work starts x.watched in another goroutine. Three orders are
// possible:
//
//   - Process returns first: land stops the search, stop reports true, and the watched function never runs.
//   - The function has found the connection: the read fails, Process returns, and Ended says whether the reply
//     had arrived before. If it had, the connection is fine, and the result counts. If not, Settle reads on
//     until the deadline, in a goroutine that Join waits for, and its place stays taken until then.
//   - The function is still searching: land makes its next look the last one. Wait keeps the exit from being
//     used for another command before that.
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
//
// Its fields are set anew under Pipe.mu, without mu, before the next command uses it. Nobody else can look at
// them then: single has waited for the watched function, and an exit that End may have found is not used again
// (see putExitLocked).
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
//
// End closes ending first and takes the mutex afterwards. So a command that starts at the same time either
// finds ending closed here, or is in exits when End looks: none is overlooked.
func (p *Pipe) newExitLocked(ctx context.Context) (*exit, error) {
	if !links.MayLeave(ctx) {
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
		if len(p.spare) < manyInFlight {
			p.spare = append(p.spare, x)
		}
	}
}

// leave makes the call return. Its connection may not have been found yet.
//
// It looks again because go-redis may just be taking a connection from the pool, or dialling; nothing reports
// the moment at which the exchange gets its deadline. It sleeps 20 µs, 40 µs, and so on up to 1 ms, so a caller
// leaves within about a millisecond of that moment, and a dial of a second costs a thousand looks.
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
