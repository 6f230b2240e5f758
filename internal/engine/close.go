package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Close refuses new work, ends the contexts of what is held, releases it, and joins every goroutine.
// It takes the release timeout at most, and a little more for joining. It returns the names that were
// still held.
func (e *Engine) Close() []string {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.done
		return nil
	}
	e.closed = true
	close(e.closing)
	e.mu.Unlock()
	e.store.End()
	defer close(e.done)

	end := e.clock.Now() + e.cfg.ReleaseTimeout
	_ = crash.At(crash.Close)
	names, orphans := e.abandonAll()
	e.releaseAll(orphans, end)
	e.joinCalls(end)
	e.releaseAll(e.reclaim.rest(), end) // what the calls that were joined left behind
	e.store.HangUp()                    // also ends calls and renewals that are still under way
	e.watchdog.Close()
	e.calls.Wait()
	e.store.Wait()
	e.wheel.Close()
	e.ender.finish()
	e.events.close(max(end-e.clock.Now(), 100*time.Millisecond))
	return names
}

// abandonAll ends every live hold here. Holds that somebody is releasing are that one's business.
func (e *Engine) abandonAll() (names []string, orphans []orphan) {
	for _, h := range e.table.all() {
		h.mu.Lock()
		if h.state != live {
			h.mu.Unlock()
			continue
		}
		levels := h.endLocked(e.refuse(h.proto))
		cause := h.cause
		h.mu.Unlock()
		e.watchdog.Stop(&h.lease)
		for _, l := range levels {
			l.end(cause)
		}
		e.table.drop(h, 0)
		names = append(names, h.proto.Name())
		orphans = append(orphans, orphan{proto: h.proto, id: h.id(), notAfter: h.doubt})
	}
	return names, orphans
}

// releaseAll releases in batches, and again what got no answer, until end.
func (e *Engine) releaseAll(orphans []orphan, end time.Duration) {
	for pause := firstPause; len(orphans) > 0; pause = min(2*pause, lastPause) {
		orphans = e.releaseOnce(orphans, end)
		if len(orphans) == 0 || e.clock.Now()+pause >= end {
			return
		}
		<-time.After(pause) // bounded by end; there is nothing else to wait for
	}
}

// releaseOnce sends one release for each and returns those that got no answer.
func (e *Engine) releaseOnce(orphans []orphan, end time.Duration) (silent []orphan) {
	for len(orphans) > 0 {
		batch := orphans[:min(len(orphans), renewBatch)]
		orphans = orphans[len(batch):]
		left := end - e.clock.Now()
		if left <= 0 {
			return nil
		}
		all := make([]*store.Parting, len(batch))
		for i, o := range batch {
			all[i] = &store.Parting{Proto: o.proto, ID: o.id}
		}
		e.sendReleases(all, min(left, e.limit(e.cfg.Lease)))
		for i, o := range batch {
			if kind := store.FaultOf(all[i].Err); kind == store.FaultAmbiguous || kind == store.FaultTransient {
				silent = append(silent, o)
			}
		}
	}
	return silent
}

// sendReleases sends releases that nothing may hold up for longer than limit, be it the wait for a connection:
// so the context has a timer.
func (e *Engine) sendReleases(all []*store.Parting, limit time.Duration) {
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	e.store.ReleaseEach(ctx, all)
}

// joinCalls waits for calls under way, until end.
func (e *Engine) joinCalls(end time.Duration) {
	joined := make(chan struct{})
	go func() {
		e.calls.Wait()
		close(joined)
	}()
	timer := time.NewTimer(max(end-e.clock.Now(), 0))
	defer timer.Stop()
	select {
	case <-joined:
	case <-timer.C:
	}
}
