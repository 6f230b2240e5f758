package redlock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// survey asks every node one question, for operators. It waits for all nodes that answer in time.
//
// done is closed by the answer that empties silent. Each node answers once, by onAnswer or by a refused submission,
// so that happens once, and possibly after the operator's call has returned: the maps it gets are copies.
type survey struct {
	mu      sync.Mutex // guards all below
	replies []luacall.QuorumReply
	failed  map[*node]error
	silent  silent
	done    chan struct{}
}

func (c *Client) survey(
	ctx context.Context, question func(at quorum.Server) *quorum.Call,
) ([]luacall.QuorumReply, map[*node]error) {
	s := &survey{failed: make(map[*node]error), silent: c.silent(), done: make(chan struct{})}
	answer := func(n *node, reply luacall.QuorumReply, err error) {
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
		err := n.submit(&command{
			make: func(time.Duration) *quorum.Call { return question(n.server) },
			onAnswer: func(_ *command, reply luacall.QuorumReply, err error) bool {
				answer(n, reply, err)
				return false
			},
		})
		if err != nil {
			answer(n, luacall.QuorumReply{}, err)
		}
	}
	c.wait(ctx, s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := maps.Clone(s.failed)
	s.silent.blame(failed)
	return slices.Clone(s.replies), failed
}

// inspect merges the answers of the nodes. A hold counts if, as far as is known, a quorum may have it; a hold on
// fewer nodes is an attempt that failed or is about to.
func (c *Client) inspect(ctx context.Context, l *quorumLock) (luacall.InspectReply, error) {
	replies, failed := c.survey(ctx, func(at quorum.Server) *quorum.Call {
		return at.Inspect(l.key, l.token, l.channel)
	})
	if len(replies) < c.quorum {
		return luacall.InspectReply{}, c.noQuorum(len(replies), 0, failed)
	}
	seen := luacall.InspectReply{PTTL: -2 * time.Millisecond, Subscribers: -1}
	standing := make(map[string][]luacall.Holder)
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
		// It has a quorum until the last node but q - 1 drops it.
		slices.SortFunc(at, func(a, b luacall.Holder) int { return cmp.Compare(b.TTL, a.TTL) })
		holder := luacall.Holder{ID: c.holds.idOf(id), TTL: at[min(c.quorum, len(at))-1].TTL}
		for _, h := range at {
			holder.Count = max(holder.Count, h.Count)
		}
		seen.PTTL = max(seen.PTTL, holder.TTL)
		seen.Holders = append(seen.Holders, holder)
	}
	return seen, nil
}

// releaseForeign takes a hold of another client from its holder. It is enough that a quorum of nodes does not have it
// afterwards: nobody can renew it then.
func (c *Client) releaseForeign(ctx context.Context, l *quorumLock, id string) (luacall.ReleaseReply, error) {
	began := c.clock.Now()
	replies, failed := c.survey(ctx, func(at quorum.Server) *quorum.Call {
		return at.Release(luacall.ReleaseArgs{Lock: l.key, ID: id, Channel: l.channel, WantNow: true})
	})
	if len(replies) < c.quorum {
		return luacall.ReleaseReply{}, c.noQuorum(len(replies), 0, failed)
	}
	reply := luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: store.Gone}, Now: c.middle(began)}
	for _, r := range replies {
		if r.Status == luacall.Done {
			reply.Status = luacall.Done
		}
	}
	return reply, nil
}
