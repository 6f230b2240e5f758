package links

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// beat is the interval at which an awake follower does its work.
	beat = 100 * time.Millisecond
	// silence is how long an answer may be outstanding before its server is doubted.
	silence = 500 * time.Millisecond
	// doubt is how long the follower asks for the primaries after something raised doubt.
	doubt = 3 * time.Second
	// The least interval between two questions for the primaries. The map of a cluster is a burden for the node
	// that answers; Sentinel knows one address.
	pauseCluster  = 500 * time.Millisecond
	pauseSentinel = 100 * time.Millisecond
	// question bounds each question, so that a node that hangs does not block the follower.
	// The follower waits for the answer, so a beat with all questions, for the primaries and for a role, takes twice
	// this at most, and the time of a command more where a role can only be asked for on connections that others use.
	question = 400 * time.Millisecond
	// rolePause is how often the primary that Sentinel named is asked for its role and its replicas.
	rolePause = 500 * time.Millisecond
)

// follower finds out when a primary was replaced, and closes the connections to the old one.
//
// go-redis does so late. A cluster client reads the map of the slots again after a MOVED, and otherwise once a
// minute: a dead primary sends no MOVED. A derived client of Sentinel asks it only when it dials, and a deposed
// primary goes on answering for seconds until it is told.
//
// Doubt is raised by failed connections, by refusals that no primary sends, by outstanding answers, and, behind
// Sentinel, by a primary that has lost one of its replicas, which may have been promoted. The follower cannot
// listen to the Sentinels themselves, because a client of NewFailoverClient does not say where they are and how
// to log in; but its dialer asks them, so a new connection shows which primary they name (see primary). While in doubt,
// the follower asks again and again. If nothing has changed, only the question was wasted.
//
// An example on a cluster with a command limit of 1 s or more. The primary's machine loses its power at 0 ms,
// so no connection ends. A renewal is sent at 100 ms. At 600 ms its answer is outstanding for too long, and the
// next beat, by 700 ms, asks the cluster for
// its map. That still names the dead primary. Doubt goes on for as long as answers are outstanding or connections
// fail, and there is a question every half second. The cluster promotes a replica
// at 5,000 ms, and by about 5,500 ms the follower has the new map, closes the connections to the old primary,
// and calls the callback, which renews at the new one. A lease of 30 s survives that easily.
//
// One goroutine, run, does all the work. use starts it when something is sent for the first time; it ends with
// joined, and Links.Close joins it. While nothing is sent for long it rests, without a timer. It alone uses sides'
// known, and the callback runs in it, so a callback that blocked would stop the follower.
type follower struct {
	sides   []*side // Traffic and, behind Sentinel, the probe
	pause   time.Duration
	command time.Duration                                   // the limit of a command
	role    func(ctx context.Context) (*primaryRole, error) // nil: nobody is asked
	spare   func(ctx context.Context) (*primaryRole, error) // the same, over a connection of the first side
	named   *primary                                        // by Sentinels; nil: not by them
	probe   *side                                           // by which it is asked for its role

	unprobed time.Time // when the probe could not be connected; only the follower's goroutine uses it

	doubted  atomic.Bool
	activity activity
	started  bool // it has its goroutine; only the call that ends a rest uses it
	changed  atomic.Pointer[func()]
	joined   joined
}

// side is one derived client.
//
// tracks has a mutex of its own, because the connections' goroutines use it; known belongs to the follower's
// goroutine.
type side struct {
	tracks    tracks
	primaries func(ctx context.Context) ([]string, error) // asks; nil: those of the side before
	known     []string                                    // the last answer
}

// primaryRole is a primary's answer to ROLE.
type primaryRole struct {
	primary  bool
	offset   int64 // of its stream of writes
	replicas []string
	acked    map[string]int64 // how much of the stream each replica has confirmed
}

// received reports that all of some replicas have the stream up to an offset.
func (r *primaryRole) received(replicas []string, offset int64) bool {
	return !slices.ContainsFunc(replicas, func(one string) bool {
		acked, ok := r.acked[one]
		return !ok || acked < offset
	})
}

func newFollower(limits Limits) *follower {
	f := &follower{pause: pauseCluster, command: limits.Command}
	f.activity.wake, f.activity.idle = make(chan struct{}, 1), max(4*limits.Life, time.Second)
	f.joined.init()
	return f
}

// side registers a client that is about to be derived.
func (f *follower) side(dialled bool, limits Limits) *side {
	s := &side{tracks: tracks{
		dialled: dialled, silence: min(silence, limits.Command/2),
		used: f.use, doubtful: func() { f.doubted.Store(true) },
	}}
	f.sides = append(f.sides, s)
	return s
}

// aside registers a client by which the follower itself asks. What that one sends keeps nobody awake, and its failures
// are known to whom asks.
func (f *follower) aside(limits Limits) *side {
	f.probe = f.side(false, limits)
	f.probe.tracks.used, f.probe.tracks.doubtful = func() {}, func() {}
	return f.probe
}

// use records that something is about to be sent, and starts or wakes the follower's goroutine if it rests.
//
// Only the call that ended a rest comes to started, and the next rest begins after it. Sending never blocks: there is
// room for one, and the follower rests again only after it received the signal before.
func (f *follower) use() {
	if !f.activity.endsRest() {
		return
	}
	if f.started {
		f.activity.wake <- struct{}{}
		return
	}
	f.started = true
	f.joined.run(f.run)
}

// end stops the follower; its questions end with the clients.
func (f *follower) end() { f.joined.end() }

func (f *follower) run() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var b beats
	b.active = time.Now()
	for {
		select {
		case <-f.joined.ctx.Done():
			return
		case <-ticker.C:
		}
		if f.beat(&b, time.Now()) {
			continue
		}
		ticker.Stop()
		select {
		case <-f.joined.ctx.Done():
			return
		case <-f.activity.wake:
		}
		ticker.Reset(beat)
		b = beats{active: time.Now()}
	}
}

// beats is a follower's state between two beats.
type beats struct {
	active time.Time // when something was last sent
	until  time.Time // when doubt ends
	asked  time.Time // when the primaries were last asked for
	roled  time.Time // when a role was last asked for
	role   *primaryRole
}

// beat does one round of work. It reports false if there has been none for long.
//
// A doubt that is raised between Swap and the questions is seen by the next beat: the flag is cleared before
// anybody is asked, never after.
func (f *follower) beat(b *beats, now time.Time) bool {
	if f.activity.busy.Swap(false) {
		b.active = now
	}
	if f.doubted.Swap(false) || slices.ContainsFunc(f.sides, func(s *side) bool { return s.tracks.silent(now) }) {
		b.until = now.Add(doubt)
	}
	idle := now.Sub(b.active) > f.activity.idle
	switch {
	case now.Before(b.until), !idle && f.named != nil && f.named.stale(now):
		if now.Sub(b.asked) >= f.pause {
			b.asked = now
			f.look()
		}
	case idle:
		if !f.activity.rests() {
			return true
		}
		f.retire() // nobody follows the primary now
		return false
	}
	if f.role != nil && now.Sub(b.roled) >= rolePause {
		f.examine(b, now)
		b.roled = time.Now() // however long it took, others have a connection too, if there is only one
	}
	if f.named != nil && f.named.lapsed(time.Now()) {
		f.retire()
	}
	return true
}

// retire closes all connections to a primary that Sentinels named, except that by which it may be confirmed again. An
// exchange that begins at this moment fails like on any broken connection.
func (f *follower) retire() {
	if f.named == nil {
		return
	}
	for _, s := range f.sides {
		if s != f.probe {
			s.tracks.retire(errUnfollowed)
		}
	}
}

// examine asks the primary behind Sentinel for its role.
func (f *follower) examine(b *beats, now time.Time) {
	role, from, err := f.askRole()
	switch {
	case redis.IsPermissionError(err):
		b.until = now.Add(doubt) // so Sentinel must be asked
	case err != nil:
	case !role.primary:
		b.until = now.Add(doubt)
		f.leave(f.peers()...)
	default:
		if last := b.role; last != nil && lost(last.replicas, role.replicas) {
			b.until = now.Add(doubt)
		}
		b.role = role
	}
	if err == nil && f.named != nil {
		f.named.heard(role, now, from)
	}
}

// askRole asks the primary for its role, over the probe's connection. If that cannot be made, because the server or the
// process has no place for one more, or a name server is silent, it asks over one that is there: otherwise trust in the
// primary would end, and with it the connections that still work. Go-redis closes a connection whose answer does not
// come in time, and this one may be the last, so it has the time of any command. The probe's is tried again after a
// while: trust ends soon if the follower waits for it each time. If a Sentinel has named the primary meanwhile, nothing
// is asked: a caller that comes at that moment would find no connection.
func (f *follower) askRole() (role *primaryRole, from string, err error) {
	ctx, cancel := context.WithTimeout(f.joined.ctx, question)
	defer cancel()
	if f.probe == nil {
		role, err = f.role(ctx)
		return role, "", err
	}
	had, others := f.probe.tracks.peer() != "", f.sides[0].tracks.peer() != ""
	if began := time.Now(); had || !others || began.Sub(f.unprobed) >= doubt {
		made := f.probe.tracks.made.Load()
		role, err = f.role(ctx)
		if err == nil || had || !others || f.probe.tracks.made.Load() != made || f.named.namedSince(began) {
			return role, f.probe.tracks.peer(), err
		}
		f.unprobed = time.Now()
	}
	role, err = f.spare(Within(f.joined.ctx, f.command))
	return role, f.sides[0].tracks.peer(), err
}

// lost reports that at least one of were is not among are.
func lost(were, are []string) bool {
	return slices.ContainsFunc(were, func(one string) bool { return !slices.Contains(are, one) })
}

// peers returns all servers with a connection.
func (f *follower) peers() (all []string) {
	for _, s := range f.sides {
		all = slices.AppendSeq(all, maps.Keys(s.tracks.peers()))
	}
	return all
}

// look asks for the primaries, and leaves servers that no longer are.
//
// Each goroutine writes an element of its own in found, which is read after Wait. A question that failed has no
// answer, and then nobody is left: silence does not show who is a primary.
func (f *follower) look() {
	ctx, cancel := context.WithTimeout(f.joined.ctx, question)
	defer cancel()
	found := make([][]string, len(f.sides))
	var asking sync.WaitGroup
	for i, s := range f.sides {
		if s.primaries != nil {
			asking.Go(func() { found[i], _ = s.primaries(ctx) })
		}
	}
	asking.Wait()
	var gone []string
	for i, s := range f.sides {
		if s.primaries == nil {
			found[i] = found[i-1]
		}
		s.tracks.welcome(found[i])
		if len(found[i]) > 0 {
			gone = append(gone, s.replaced(found[i])...)
		}
	}
	if len(gone) > 0 {
		f.leave(gone...)
	}
}

// replaced records the primaries, and returns those that no longer are.
func (s *side) replaced(now []string) (gone []string) {
	if s.known == nil {
		s.known = s.tracks.presumed()
	}
	for _, addr := range s.known {
		if !slices.Contains(now, addr) {
			gone = append(gone, addr)
		}
	}
	s.known = now
	return gone
}

// leave closes the connections to servers that are no longer primaries, and calls the callback.
//
// The connections are closed before the callback. So a renewal that the callback starts cannot go to the old
// primary: it needs a new connection, and tracks refuses one to that server.
func (f *follower) leave(addrs ...string) {
	for _, s := range f.sides {
		for _, addr := range addrs {
			s.tracks.leave(addr)
		}
	}
	if tell := f.changed.Load(); tell != nil {
		(*tell)()
	}
}

// mastersOf asks a cluster for its primaries, and updates the client.
//
// go-redis calls the function for each node in a goroutine of its own, and returns when all have ended.
func mastersOf(cc *redis.ClusterClient) func(ctx context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var mu sync.Mutex // guards addrs
		var addrs []string
		err := cc.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			addrs = append(addrs, Address(node.Options().Addr))
			return nil
		})
		return addrs, err
	}
}

// roleOf asks the primary that a client is connected to for its role.
func roleOf(c redis.UniversalClient) func(ctx context.Context) (*primaryRole, error) {
	return func(ctx context.Context) (*primaryRole, error) {
		node, err := Node(ctx, c, "")
		if err != nil {
			return nil, err
		}
		reply, err := node.Do(ctx, "ROLE").Slice()
		if err != nil {
			return nil, err
		}
		return readRole(reply), nil
	}
}

// readRole parses the answer to ROLE: of a primary, its name, an offset, and host, port and offset of each
// replica.
func readRole(reply []any) *primaryRole {
	r := &primaryRole{}
	if len(reply) < 3 || reply[0] != "master" {
		return r
	}
	r.primary, r.acked = true, make(map[string]int64)
	r.offset, _ = reply[1].(int64)
	replicas, _ := reply[2].([]any)
	for _, one := range replicas {
		if replica, _ := one.([]any); len(replica) >= 3 {
			addr := Address(fmt.Sprint(replica[0], ":", replica[1]))
			r.replicas = append(r.replicas, addr)
			r.acked[addr], _ = strconv.ParseInt(fmt.Sprint(replica[2]), 10, 64)
		}
	}
	return r
}
