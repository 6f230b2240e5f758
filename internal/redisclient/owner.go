package redisclient

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/request"
)

// owner tells others who a client is, in a key that lives as long as the client's holds: one key for all of them, which
// a hold's id leads to, because it begins with the client's. Nothing of a lock depends on it.
//
// It is written when something is taken or renewed, and was not written for a sixth of a lease, by a goroutine for
// which nobody waits; so a lock costs no more for it than the look at a clock. Holds are renewed every third of a
// lease, so the key stays while there is a renewed hold, and expires soon after the last one.
//
// Two goroutines may find it due at the same time; the swap of at lets one of them write. Nothing is written after
// Close has deleted the key: closed is set under mu, and a write that began before is waited for.
type owner struct {
	conns *links.Links
	key   string
	text  string
	life  time.Duration // of the key
	every time.Duration
	limit time.Duration // of a command

	start time.Time
	at    atomic.Int64 // since start, when it was last written; 0: never

	mu     sync.Mutex // guards closed, and that nothing is added to writes once it is set
	closed bool
	writes sync.WaitGroup
}

// newOwner returns nil if nothing is to be told.
func newOwner(o *Options, conns *links.Links, client string) *owner {
	if o.Owner == "" {
		return nil
	}
	return &owner{
		conns: conns, key: keys.Owner(client), text: o.Owner, life: o.Lease + o.Lease/2, every: o.Lease / 6,
		limit: request.CommandLimit(o.Lease), start: time.Now(),
	}
}

// used is called whenever something was taken or renewed.
func (o *owner) used() {
	now, last := max(int64(time.Since(o.start)), 1), o.at.Load()
	if last != 0 && now-last < int64(o.every) || !o.at.CompareAndSwap(last, now) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.writes.Go(func() {
		ctx := links.Within(context.Background(), o.limit)
		_ = o.conns.Traffic.Set(ctx, o.key, o.text, o.life).Err() // the next use tries again
	})
}

// close deletes the key, within a limit. If that fails the key expires.
func (o *owner) close(limit time.Duration) {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	if o.at.Load() == 0 {
		return
	}
	end, done := time.Now().Add(limit), make(chan struct{})
	go func() { o.writes.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		return // the write goes on until the connections are closed, and its key expires
	}
	left := time.Until(end)
	ctx, cancel := context.WithTimeout(context.Background(), left) // also while it waits for a connection
	defer cancel()
	_ = o.conns.Traffic.Del(links.WithinAll(ctx, o.limit, left), o.key).Err()
}

// join waits for what close left behind. The connections are closed by then, so it does not last.
func (o *owner) join() {
	if o != nil {
		o.writes.Wait()
	}
}

// tell adds to holders what their clients say of themselves. One request asks for all; without an answer, or without
// the right to ask, nothing is added.
func (o *owner) tell(ctx context.Context, holders []engine.Holder) {
	asked := make(map[string]*redis.StringCmd)
	pipe := o.conns.Traffic.Pipeline()
	for _, h := range holders {
		if client, _, _ := strings.Cut(h.ID, ":"); asked[client] == nil {
			asked[client] = pipe.Get(ctx, keys.Owner(client))
		}
	}
	if len(asked) == 0 {
		return
	}
	_, _ = pipe.Exec(links.Within(ctx, o.limit))
	for i := range holders {
		client, _, _ := strings.Cut(holders[i].ID, ":")
		holders[i].Owner = asked[client].Val()
	}
}
