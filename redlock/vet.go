package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/watchdog"
)

// refusal is why a connection was refused, and until when retrying is pointless.
type refusal struct {
	err   error
	until time.Duration   // by the clock
	clock *watchdog.Clock // the client's; nil: when it ends is nobody's business
}

// Error says how much time is left when it is read: the refusal is the error of all calls until then.
func (r *refusal) Error() string {
	if r.clock == nil {
		return r.err.Error()
	}
	left := max(r.until-r.clock.Now(), 0)
	return fmt.Sprintf("%v (%v left)", r.err, (left + time.Second - 1).Truncate(time.Second))
}

// Unwrap returns why.
func (r *refusal) Unwrap() error { return r.err }

// reason is the text of an error without the time that is left.
func reason(err error) string {
	if refused, ok := err.(*refusal); ok {
		err = refused.err
	}
	return err.Error()
}

// recheck is how soon a server that is not an independent primary is checked again: somebody may fix it.
const recheck = 5 * time.Second

// identities records which server each node is, by the run id that its newest connection reported.
type identities struct {
	mu    sync.Mutex // guards nodes
	nodes map[string]*node
}

// claim records that n is the server of that run id. It returns another node with the same run id, if any.
func (i *identities) claim(n *node, run string) (other *node) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if other = i.nodes[run]; other != nil && other != n {
		return other
	}
	for old, owner := range i.nodes {
		if owner == n {
			delete(i.nodes, old)
		}
	}
	if i.nodes == nil {
		i.nodes = make(map[string]*node)
	}
	i.nodes[run] = n
	return nil
}

// vet checks a connection when it is made, on that connection. A restart ends every connection, so a vote over a
// vetted one comes from the very process that was checked, however often scripts are loaded, requests repeated or
// servers restarted in between.
//
// What a node that comes back empty may do follows from it: for the guard time nothing, since every connection
// to it is refused, so it grants, renews and seeds nothing. Afterwards it may do everything. What it forgot has
// expired, also at the other nodes unless it was renewed; and a hold that was renewed by a quorum without it
// excludes a second quorum with it.
//
//	0 s    the holder has a and b; the lease is 30 s, and so is the guard time
//	1 s    b restarts empty. The holder's renewals reach a only, and fail
//	2 s    another client asks: a is busy, b has no vote, c grants. No quorum
//	30 s   at the latest the hold is lost, and released on a; a and c grant. b has a vote from 32 s on
func (n *node) vet(ctx context.Context, conn *redis.Conn) error {
	return n.check(func() (quorum.About, error) {
		pipe := conn.Pipeline()
		info, role, clock := pipe.Info(ctx, "server"), pipe.Do(ctx, "ROLE"), pipe.Time(ctx)
		_, err := pipe.Exec(ctx)
		server := fields(info.Val())
		about := quorum.About{Mode: modeOf(server), Run: server["run_id"], Uptime: server["uptime_in_seconds"],
			Now: clock.Val().UnixMicro()}
		if parts, _ := role.Val().([]any); len(parts) > 0 {
			about.Role, _ = parts[0].(string)
		}
		return about, err
	})
}

// check decides whether a server has a vote, by what it says of itself.
func (n *node) check(read func() (quorum.About, error)) error {
	c := n.client
	sent := c.clock.Now()
	about, err := read()
	now := c.clock.Now()
	switch {
	case err == nil:
	case !answered(err):
		return err
	case c.leastUptime == 0 && !redis.IsPermissionError(err):
		return nil // not a real server; applications' tests use such
	default:
		return n.refuse(fmt.Errorf("it must answer INFO, ROLE and TIME to have a vote: %w", err),
			now+recheck)
	}
	c.clocks.Observe(n.addr, sent, now, about.Now)
	if mode := about.Mode; mode != "" && mode != "standalone" {
		return n.refuse(fmt.Errorf("%w: it runs in mode %q", ErrNotIndependent, mode), now+recheck)
	}
	if about.Role != "master" {
		return n.refuse(fmt.Errorf("%w: it is a replica", ErrNotIndependent), now+recheck)
	}
	if other := c.who.claim(n, about.Run); other != nil {
		return n.refuse(fmt.Errorf("%w: it is the same server as %s", ErrNotIndependent, other.addr),
			now+recheck)
	}
	if c.leastUptime == 0 {
		return nil
	}
	up, err := strconv.ParseInt(about.Uptime, 10, 64)
	if err != nil {
		return n.refuse(errors.New("its INFO lacks the uptime, which it must report to have a vote"), now+recheck)
	}
	if up < c.leastUptime {
		wait := time.Duration(c.leastUptime-up) * time.Second
		return &refusal{err: ErrRestarted, until: now + wait, clock: c.clock}
	}
	return nil
}

func (n *node) refuse(err error, until time.Duration) error {
	return &refusal{err: err, until: until}
}

// modeOf returns the server's mode, which Valkey reports under its own name.
func modeOf(about map[string]string) string {
	if mode := about["redis_mode"]; mode != "" {
		return mode
	}
	return about["server_mode"]
}

// fields parses INFO's answer.
func fields(info string) map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}
