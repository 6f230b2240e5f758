package pipeline

import (
	"runtime"
	"time"
)

const (
	// distance is the round trip from which on a node is distant: its callers would lose more by waiting for a place
	// than the node would by getting fewer commands at a time.
	distance = 500 * time.Microsecond
	// worth is how many commands are worth a pipeline of their own, of several to a distant node.
	worth = 32
	// looks is how often a collector looks for newcomers at most.
	looks = 256
	// pause is the part of a round trip for which a collector waits for the next burst.
	pause = 16
)

// distant reports that the node's round trip is long, compared with what sending and answering a command take.
func (c *pace) distant() bool { return c.roundTrip() >= distance }

// share is how many of the commands that have gathered go on one of the places that are free. The replies of a pipeline
// are read together, so the first callers of a long one wait while the node works for the others. A distant node gets
// several shorter ones at once.
func (n *node) share() int {
	free := n.limit() - n.busy
	if !n.distant() || free <= 0 {
		return len(n.queue)
	}
	return max((len(n.queue)+free-1)/free, worth)
}

// collect waits until a burst of commands to a distant node is over, and returns those that the sender is to send.
//
// The answers of one pipeline wake all its callers, and most of them send again within microseconds. If each took a
// place as it came, the first few would take all places with a command each, and the rest would wait for a whole round
// trip. Timers are too coarse for that, so the collector lets the scheduler run the goroutines that are ready, until
// none of them brings a command. With fewer places left it is surer of that before it takes this one, and if half of
// them are taken it rather waits for the next burst than to go with a few.
func (p *Pipe) collect(n *node) []*command {
	came, quiet := 0, 0
	for range looks {
		runtime.Gosched()
		now, busy := p.gathered(n)
		if quiet++; now > came {
			came, quiet = now, 0
		}
		if quiet >= busy {
			break
		}
	}
	time.Sleep(p.rest(n))
	return p.next(sent{node: n, collected: true}, nil, true)
}

func (p *Pipe) gathered(n *node) (commands, busy int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(n.queue), n.busy
}

// rest is how long a collector waits for the next burst too.
func (p *Pipe) rest(n *node) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(n.queue) >= worth || n.busy <= manyInFlight/2 {
		return 0
	}
	return n.roundTrip() / pause
}
