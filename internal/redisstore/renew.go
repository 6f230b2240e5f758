package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Redis serves nobody else while a script runs. 256 plain holds take it about a millisecond, and 2,000 permits some
// four. It also serves nobody between scripts that it read at once, as it may read many of those that name few holds of
// many permits each. So what one round trip renews is bounded as well, by the most that one acquisition may take.
const (
	renewBatch    = 256                // holds that one script renews
	scriptEntries = 2_000              // entries that it renews, if they are not of one hold
	tripEntries   = luacall.MaxPermits // entries that are renewed in one round trip
)

var errRefusedWrite = &store.Failure{Fault: store.FaultDefinite, Answered: true, Err: errors.New(
	"the server refused to renew the lease: check min-replicas-to-write and the rights of the user (PEXPIRE; for " +
		"permits ZADD)")}

// group is the content of one renewal script: holds of one kind, and of one slot where slots matter.
type group struct {
	renewer   Renewer
	each      int   // entries of a hold
	at        []int // where the holds stand in the batch
	keys, ids []string
	ttls      []int64
	call      *renewCall
}

type renewCall = luacall.Call[[]luacall.RenewStatus]

// Renew implements [store.Store]: one script for the holds that can share one, up to renewBatch of them, and all
// scripts in one round trip, unless they are of many permits.
//
// Every renewal gets its own answer, and an error counts for the holds of its script only. A script that
// extended its holds although its reply was lost does no harm: the client counts from before it sent the
// request, and takes the shorter validity.
func (s *Store) Renew(ctx context.Context, all []store.Renewal) {
	s.noteUse(true)
	groups := s.groups(all)
	s.sendRenewals(ctx, groups)
	var refused []refusedGroup
	for _, g := range groups {
		if len(g.at) > 1 && s.refusesMany(g.call.Err) {
			refused = append(refused, refusedGroup{g, g.call.Err})
			continue
		}
		g.report(all)
	}
	if len(refused) > 0 {
		s.renewApart(ctx, refused, all)
	}
}

// refusedGroup is a group that the server refused to renew by a single script.
type refusedGroup struct {
	*group
	err error
}

// renewApart sends every hold's renewal as a script of its own.
//
// A group that is refused as a whole while each of its members is accepted shows that the server, or a proxy
// before it, wants one slot per script. If a single one fails as well, the cause may be anything, and nothing
// is learned from it.
func (s *Store) renewApart(ctx context.Context, refused []refusedGroup, all []store.Renewal) {
	var apart []*group
	for _, g := range refused {
		apart = append(apart, g.singles()...)
	}
	s.sendRenewals(ctx, apart)
	for _, g := range apart {
		g.report(all)
	}
	for _, g := range refused {
		own := apart[:len(g.at)]
		apart = apart[len(g.at):]
		fine := !slices.ContainsFunc(own, func(one *group) bool { return one.call.Err != nil })
		if s.learnSlots(g.err); fine && refusedScript(g.err) {
			s.oneSlot.Store(true)
		}
	}
}

// groups splits the batch.
//
// The kinds are compared as values, so the renewer of two locks of one kind must be equal. On one node a batch
// of 600 plain holds makes three groups (256, 256 and 88). On a cluster it makes one per slot in use, because a
// script must not name keys of two.
func (s *Store) groups(all []store.Renewal) []*group {
	type kind struct {
		renewer Renewer
		slot    int
	}
	var (
		groups []*group
		last   kind
		g      *group // of the last kind: usually all are of one
	)
	oneSlot, byKind := s.oneSlot.Load(), make(map[kind]*group)
	for i := range all {
		one := &all[i]
		k := kind{renewer: Unbind(one.Proto).(Keeper).Renewer()}
		if oneSlot {
			k.slot = s.Slot(one.Proto.Key())
		}
		if g == nil || k != last {
			g, last = byKind[k], k
		}
		if g == nil || g.full() {
			g = newGroup(k.renewer)
			if !oneSlot { // then nearly all go into one
				g.expect(min(len(all)-i, renewBatch))
			}
			byKind[k] = g
			groups = append(groups, g)
		}
		g.add(i, one)
	}
	return groups
}

func newGroup(of Renewer) *group {
	g := &group{renewer: of, each: 1}
	if m, ok := of.(Multiple); ok {
		g.each = m.Entries()
	}
	return g
}

// full reports that the script renews no more holds than those that the group has.
func (g *group) full() bool {
	return len(g.at) == renewBatch || (len(g.at)+1)*g.each > scriptEntries
}

func (g *group) expect(n int) {
	g.at, g.ttls = make([]int, 0, n), make([]int64, 0, n)
	g.keys, g.ids = make([]string, 0, n), make([]string, 0, n)
}

func (g *group) add(at int, one *store.Renewal) {
	g.at = append(g.at, at)
	g.keys = append(g.keys, one.Proto.Key())
	g.ids = append(g.ids, one.ID)
	g.ttls = append(g.ttls, one.TTL.Milliseconds())
}

func (g *group) singles() []*group {
	singles := make([]*group, len(g.at))
	for i := range g.at {
		singles[i] = &group{
			renewer: g.renewer, each: g.each, at: g.at[i : i+1],
			keys: g.keys[i : i+1], ids: g.ids[i : i+1], ttls: g.ttls[i : i+1],
		}
	}
	return singles
}

// sendRenewals sends one script per group: the only one as it is, several in one pipeline per node.
func (s *Store) sendRenewals(ctx context.Context, groups []*group) {
	prepare(groups)
	if s.confirm.asked() {
		s.renewConfirmed(ctx, groups)
		return
	}
	s.insist(ctx, groups, func(ctx context.Context) {
		if len(groups) == 1 {
			c := groups[0].call
			c.Reply, c.Err = c.Run(ctx, s.links.Traffic)
			return
		}
		runTrips(ctx, s.links.Traffic, groups)
	})
}

func prepare(groups []*group) {
	for _, g := range groups {
		g.call = g.renewer.Renew(g.keys, g.ids, g.ttls)
	}
}

// insist has send carry out renewals at a node, and once more if the connection may have been forgotten. A renewal that
// is carried out twice does no harm.
func (s *Store) insist(ctx context.Context, groups []*group, send func(ctx context.Context)) {
	silent := s.traffic.Beside(ctx, s.Node(groups[0].keys[0]), func(ctx context.Context) error {
		send(ctx)
		return failure(groups)
	})
	if silent {
		prepare(groups)
		send(ctx)
	}
}

// failure is the error of scripts that were not answered, or nil.
func failure(groups []*group) error {
	for _, g := range groups {
		if _, refused := errors.AsType[redis.Error](g.call.Err); g.call.Err != nil && !refused {
			return g.call.Err
		}
	}
	return nil
}

// runTrips sends the scripts in as few pipelines as their entries allow, one after the other.
func runTrips(ctx context.Context, conn luacall.Pipeliner, groups []*group) {
	var calls []*renewCall
	entries := 0
	for _, g := range groups {
		own := len(g.at) * g.each
		if entries+own > tripEntries && len(calls) > 0 {
			luacall.RunAll(ctx, conn, calls)
			calls, entries = calls[:0], 0
		}
		calls, entries = append(calls, g.call), entries+own
	}
	luacall.RunAll(ctx, conn, calls)
}

// renewConfirmed sends the scripts of each node over a connection of its own, and then one WAIT or WAITAOF for all of
// them: where a disk is waited for, that takes up to a second each time. A script that was redirected did not run, and
// is sent by itself.
func (s *Store) renewConfirmed(ctx context.Context, groups []*group) {
	at := make(map[*redis.Client][]*group)
	for _, g := range groups {
		node, err := links.Node(ctx, s.links.Traffic, g.keys[0])
		if g.call.Err = err; err == nil {
			at[node] = append(at[node], g)
		}
	}
	for node, some := range at {
		s.renewOn(ctx, node, some)
	}
	for _, g := range groups {
		c := g.call
		if _, _, redirected := links.Redirected(c.Err); redirected {
			c.Err = s.confirmed(ctx, g.keys[0],
				func(ctx context.Context, conn luacall.Conn) (wrote bool, err error) {
					c.Reply, err = c.Run(ctx, conn)
					return true, err
				})
		}
	}
}

// renewOn sends the scripts of one node. What is not confirmed counts for all that were carried out.
func (s *Store) renewOn(ctx context.Context, node *redis.Client, groups []*group) {
	limit := left(ctx)
	var conn *redis.Conn
	s.insist(ctx, groups, func(ctx context.Context) {
		if conn != nil {
			_ = conn.Close()
		}
		conn = node.Conn()
		runTrips(ctx, conn, groups)
	})
	defer func() { _ = conn.Close() }()
	done := slices.DeleteFunc(groups, func(g *group) bool { return g.call.Err != nil })
	if len(done) == 0 {
		return
	}
	err := s.confirm.await(ctx, conn, limit)
	for _, g := range done {
		g.call.Err = err
	}
}

// report translates the answers.
func (g *group) report(all []store.Renewal) {
	for i, at := range g.at {
		one, c := &all[at], g.call
		switch {
		case c.Err != nil:
			one.Err = meaning(c.Err)
		case c.Reply[i] == luacall.Renewed:
			one.TTL, one.Err = time.Duration(g.ttls[i])*time.Millisecond, nil
		case c.Reply[i] == luacall.RenewGone:
			one.Err = watchdog.ErrGone
		case c.Reply[i] == luacall.RenewConflict:
			one.Err = fmt.Errorf("%w: %w", watchdog.ErrGone, luacall.ErrConflict)
		default:
			one.Err = errRefusedWrite
		}
	}
}
