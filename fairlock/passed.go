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

var _ redisstore.Server = (*queue)(nil)

// Serving implements [redisstore.Server].
func (q *queue) Serving(ids []string) redisstore.Protocol { return &passed{q, ids} }

// Release takes away the places of those who were served, too.
func (p *passed) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	return p.release(id, p.served, sharded, wantNow)
}
