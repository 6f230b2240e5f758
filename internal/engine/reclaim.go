package engine

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/lua"
)

// maxOrphans bounds what is remembered. Whatever is forgotten ends with its lease.
const maxOrphans = 1 << 16

// reclaimer releases holds that nobody believes in but that may stand in Redis, or come to stand there
// when a request that was given up is read late. It goes on until a reply proves that nothing can be
// left: the release was answered at a server time beyond the request's not-after. Without an answer it
// ends when not-after and the longest lease have passed.
type reclaimer struct {
	engine *Engine

	mu      sync.Mutex // guards all below
	orphans []orphan
	running bool
	most    int // how many go into one pipeline: fewer after one that broke
	nudge   chan struct{}
}

type orphan struct {
	proto    Protocol
	id       string
	notAfter int64         // server time in µs; 0: nothing can come late
	due, end time.Duration // when to try next, and when nothing can be left
	pause    time.Duration
	again    bool // it was released before, and is remembered for that
}

// add takes over a hold id. It does not wait.
func (r *reclaimer) add(p Protocol, id string, notAfter int64) {
	r.addFrom(r.engine.clock.Now(), p, id, notAfter)
}

// again is add for a hold that was released, perhaps where that counts for nothing any more.
func (r *reclaimer) again(p Protocol, id string) {
	r.take(orphan{proto: p, id: id, due: r.engine.clock.Now(), again: true})
}

// addFrom is add for a hold that must not be released before an instant.
func (r *reclaimer) addFrom(due time.Duration, p Protocol, id string, notAfter int64) {
	r.take(orphan{proto: p, id: id, notAfter: notAfter, due: due})
}

func (r *reclaimer) take(o orphan) {
	e := r.engine
	now := e.clock.Now()
	late := now
	if o.notAfter > 0 {
		late = max(now, e.clocks.Local(e.node(o.proto.Key()), o.notAfter, now))
	}
	o.end = max(late, o.due) + time.Duration(e.longest.Load()) + maxLimit
	o.due, o.pause = max(now, o.due), firstPause
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nudge == nil {
		r.nudge, r.most = make(chan struct{}, 1), renewBatch
	}
	if len(r.orphans) >= maxOrphans {
		e.news.warn("too many holds to reclaim; one is left to its lease", "lock", o.proto.Name())
		return
	}
	r.orphans = append(r.orphans, o)
	if !r.running {
		r.running = e.spawn(r.run)
		return
	}
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// run works until nothing is left to reclaim, or the engine closes.
func (r *reclaimer) run() {
	for {
		due, wait, ok := r.due()
		if !ok {
			return
		}
		if len(due) > 0 {
			left := r.engine.reclaimAll(due)
			r.put(left, len(left) == len(due))
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.nudge:
		case <-r.engine.closing:
		}
		timer.Stop()
	}
}

// due returns what is due, or how long nothing is. It reports false, for the last time, when the
// goroutine is to end.
func (r *reclaimer) due() (due []orphan, wait time.Duration, ok bool) {
	now := r.engine.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.orphans) == 0 || r.engine.isClosed() {
		r.running = false
		return nil, 0, false
	}
	wait = lastPause
	rest := r.orphans[:0]
	for _, o := range r.orphans {
		if o.due <= now && len(due) < max(r.most, 1) {
			due = append(due, o)
			continue
		}
		wait = min(wait, max(o.due-now, 0))
		rest = append(rest, o)
	}
	clear(r.orphans[len(rest):])
	r.orphans = rest
	return due, wait, true
}

// put takes back what has to be looked at again. If nothing of the batch was settled, the path may be
// one that breaks now and then, and a pipeline that breaks anywhere fails whole: smaller ones get
// through.
func (r *reclaimer) put(left []orphan, none bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphans = append(r.orphans, left...)
	if none {
		r.most = max(r.most/2, 1)
	} else {
		r.most = min(2*r.most, renewBatch)
	}
}

// rest empties the list, for Close.
func (r *reclaimer) rest() []orphan {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.orphans
	r.orphans = nil
	return left
}

// reclaimAll releases a batch and returns those that have to be looked at again.
func (e *Engine) reclaimAll(due []orphan) []orphan {
	calls := make([]*lua.Call[lua.ReleaseReply], len(due))
	for i, o := range due {
		calls[i] = o.proto.Release(o.id, e.sharded(), true)
	}
	sent, era := e.clock.Now(), e.recent.era()
	lost := exchange(crash.Reclaim, func() error {
		lua.RunAll(within(background, e.limit(e.cfg.Lease)), e.cfg.Links.Traffic, calls)
		return nil
	})
	now := e.clock.Now()
	var left []orphan
	for i, o := range due {
		reply, err := calls[i].Reply, first(lost, calls[i].Err)
		kind := classify(err)
		if kind == faultNone {
			e.clocks.Observe(e.node(o.proto.Key()), sent, now, reply.Now)
			if !o.again {
				e.recent.add(era, o.proto, o.id)
			}
		}
		switch {
		case kind == faultNone && reply.Now > o.notAfter, kind == faultConflict, now >= o.end:
			continue
		case kind == faultNone:
			o.due = e.clocks.Local(e.node(o.proto.Key()), o.notAfter, now) + time.Millisecond
			o.due = max(o.due, now+time.Millisecond)
		default:
			o.due, o.pause = now+o.pause, min(2*o.pause, lastPause)
		}
		left = append(left, o)
	}
	return left
}
