package redlock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lua"
)

// survey asks every node one question, for operators: it waits for all that answer in time.
type survey struct {
	mu      sync.Mutex // guards all below
	replies []lua.QuorumReply
	failed  map[*node]error
	silent  silent
	done    chan struct{}
}

func (c *Client) survey(
	ctx context.Context, question func() *lua.Call[lua.QuorumReply],
) ([]lua.QuorumReply, map[*node]error) {
	s := &survey{failed: make(map[*node]error), silent: c.silent(), done: make(chan struct{})}
	answer := func(n *node, reply lua.QuorumReply, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.failed[n] = err
		} else {
			s.replies = append(s.replies, reply)
		}
		if delete(s.silent, n); len(s.silent) == 0 {
			close(s.done)
		}
	}
	for _, n := range c.nodes {
		err := n.submit(&errand{
			make: func(time.Duration) *lua.Call[lua.QuorumReply] { return question() },
			land: func(_ *errand, reply lua.QuorumReply, err error) bool {
				answer(n, reply, err)
				return false
			},
		})
		if err != nil {
			answer(n, lua.QuorumReply{}, err)
		}
	}
	c.wait(ctx, s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := maps.Clone(s.failed)
	s.silent.blame(failed)
	return slices.Clone(s.replies), failed
}

// inspect puts together what the nodes say. A hold counts if, for all that is known, a quorum may have it:
// what stands on fewer is an attempt that failed, or is about to.
func (c *Client) inspect(ctx context.Context, l *quorumLock) (lua.InspectReply, error) {
	replies, failed := c.survey(ctx, func() *lua.Call[lua.QuorumReply] {
		return lua.QuorumInspect(l.key, l.token, l.channel)
	})
	if len(replies) < c.quorum {
		return lua.InspectReply{}, c.noQuorum(len(replies), failed)
	}
	seen := lua.InspectReply{PTTL: -2 * time.Millisecond, Subscribers: -1}
	standing := make(map[string][]lua.Holder)
	for _, r := range replies {
		seen.Fence = max(seen.Fence, r.Seen.Fence)
		for _, h := range r.Seen.Holders {
			h.TTL = r.Seen.PTTL
			standing[h.ID] = append(standing[h.ID], h)
		}
	}
	silent := len(c.nodes) - len(replies)
	for id, at := range standing {
		if len(at)+silent < c.quorum {
			continue
		}
		// It has a quorum for as long as the last node but q - 1 keeps it.
		slices.SortFunc(at, func(a, b lua.Holder) int { return cmp.Compare(b.TTL, a.TTL) })
		holder := lua.Holder{ID: c.known(id), TTL: at[min(c.quorum, len(at))-1].TTL}
		for _, h := range at {
			holder.Count = max(holder.Count, h.Count)
		}
		seen.PTTL = max(seen.PTTL, holder.TTL)
		seen.Holders = append(seen.Holders, holder)
	}
	return seen, nil
}

// known is the id by which the engine knows a hold that is this client's, or the id itself.
func (c *Client) known(nodeID string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.holds {
		if h.nodeID == nodeID {
			return id
		}
	}
	return nodeID
}

// releaseForeign takes a hold that is not this client's from whoever has it. A quorum of nodes that do not
// have it afterwards is enough: nobody can renew it then.
func (c *Client) releaseForeign(ctx context.Context, l *quorumLock, id string) (lua.ReleaseReply, error) {
	began := c.clock.Now()
	replies, failed := c.survey(ctx, func() *lua.Call[lua.QuorumReply] {
		return lua.QuorumRelease(lua.ReleaseArgs{Lock: l.key, ID: id, Channel: l.channel, WantNow: true})
	})
	if len(replies) < c.quorum {
		return lua.ReleaseReply{}, c.noQuorum(len(replies), failed)
	}
	reply := lua.ReleaseReply{Status: lua.Gone, Now: c.middle(began)}
	for _, r := range replies {
		if r.Status == lua.Done {
			reply.Status = lua.Done
		}
	}
	return reply, nil
}
