package fairlock

import (
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// passed is the protocol of a hold that was passed on to waiters that have places in the queue.
type passed struct {
	*queue
	served []string
}

var _ redisstore.Server = (*passed)(nil)

// Serving implements [redisstore.Server].
func (q *queue) Serving(id string) redisstore.Protocol { return &passed{q, []string{id}} }

// Served implements [redisstore.Server].
func (q *queue) Served() string { return "" }

// Serving implements [redisstore.Server]. Turns follow one another, so each appends to the list of the one before.
func (p *passed) Serving(id string) redisstore.Protocol {
	return &passed{p.queue, append(p.served, id)}
}

// Served implements [redisstore.Server].
func (p *passed) Served() string { return p.served[0] }

// Release takes away the places of those who were served, too.
func (p *passed) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	return p.release(id, p.served, sharded, wantNow)
}
