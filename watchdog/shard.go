package watchdog

import (
	"context"
	"time"
)

// shard is the queue of due leases that fail together. It exists while the queue is not empty or a
// call for it is under way; during that time one goroutine, once started, serves it.
type shard struct {
	name string
	due  []*Lease // the queue, guarded by Watchdog.mu; here, and not in the leases, which are seldom due
}

// enqueue appends l to the queue of its shard. The wheel fires in order of time, so the queue is in
// order of time.
func (w *Watchdog) enqueue(l *Lease) {
	name := ""
	if w.cfg.Shard != nil {
		name = w.cfg.Shard(l)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	s := w.shards[name]
	if s == nil {
		s = &shard{name: name}
		w.shards[name] = s
		w.fresh = append(w.fresh, s)
		// It is tempting to start the goroutine here, but it would take the first lease of this
		// tick before the second is queued. A timer in the past fires after all others of its tick.
		w.cfg.Wheel.Schedule(&w.gather, 0)
	}
	s.due = append(s.due, l)
}

// gather starts a goroutine for every shard that has none.
func gather(arg any) {
	w := arg.(*Watchdog)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for i, s := range w.fresh {
		w.running.Add(1)
		go w.serve(s)
		w.fresh[i] = nil
	}
	w.fresh = w.fresh[:0]
}

// batch is the leases of one call, and their answers.
type batch struct {
	due     []*Lease
	results []Result
}

// serve sends the due leases of s until none is left.
func (w *Watchdog) serve(s *shard) {
	defer w.running.Done()
	var b batch
	size := w.cfg.Batch
	for w.take(s, &b, size) {
		w.admit(&b)
		if len(b.due) > 0 {
			size = w.resize(size, w.send(s, &b))
		}
	}
}

// resize returns how many leases the next call may have, after a call with size leases took this
// long. Whatever the size, the time limit of a call is the same.
func (w *Watchdog) resize(size int, took time.Duration) int {
	switch {
	case took > w.cfg.Limit/2:
		return max(size/2, w.cfg.Batch)
	case took > w.cfg.Limit/4:
		return size
	}
	return min(2*size, w.cfg.Most)
}

// take moves the head of the queue, up to most leases, into b. If the queue is empty, or w is
// closed, it gives up the shard and returns false. Both happen under one lock, so a lease that is
// queued later finds no shard and creates a new one.
func (w *Watchdog) take(s *shard, b *batch, most int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(s.due) == 0 || w.closed {
		delete(w.shards, s.name)
		return false
	}
	n := min(len(s.due), most)
	clear(b.due[:cap(b.due)]) // ended leases must not be kept in memory
	b.due = append(b.due[:0], s.due[:n]...)
	clear(s.due[:n])
	if s.due = s.due[n:]; len(s.due) == 0 {
		s.due = nil
	}
	return true
}

// admit drops leases that need no renewal any more.
func (w *Watchdog) admit(b *batch) {
	b.results = b.results[:0]
	admitted := b.due[:0]
	for _, l := range b.due {
		l.mu.Lock()
		wanted := l.state == live && l.renewed
		l.queued = wanted
		if wanted {
			l.renewAt = asked // so that Hurry shows while the call is under way
		}
		l.mu.Unlock()
		if wanted {
			admitted = append(admitted, l)
			b.results = append(b.results, Result{Err: errNoAnswer})
		}
	}
	b.due = admitted
}

// send makes one call, settles its answers, and returns how long the call took. Validity
// counts from before the call: the store cannot have started the lease earlier than that.
func (w *Watchdog) send(s *shard, b *batch) (took time.Duration) {
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.Limit)
	defer cancel()
	start := w.cfg.Clock.Now()
	w.cfg.Renew(ctx, s.name, b.due, b.results)
	took = w.cfg.Clock.Now() - start
	for i, l := range b.due {
		w.settle(l, start, b.results[i])
	}
	return took
}
