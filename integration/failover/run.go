package failover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	holds     = 100 // names without waiters
	contended = 50  // names that are wanted all the time
	long      = 5   // names besides, each held for seconds: a lost acquisition of theirs has time to be told of
	crowded   = 3   // clients that contend, and hold half of the holds
	quiet     = 2   // clients that hold the other half, and wait for nothing

	section     = 20 * time.Millisecond // on average
	longSection = 3 * time.Second

	before  = 2 * time.Second // the fault
	after   = 4 * time.Second // the replica serves, at least
	replica = time.Second     // of writes before the loss of a primary may not have been replicated
)

// Run makes each library's clients hold and contend while the primary is lost, all at once, and returns the figures
// in the order of the libraries.
func Run(t testing.TB, site *Site, lease time.Duration, libraries ...Library) []Figures {
	t.Helper()
	var runs []*run
	probe := site.Name()
	for _, library := range libraries {
		runs = append(runs, newRun(t, site, library, lease))
	}
	late := watchLateness(runs[0].ctx)
	time.Sleep(before)
	site.replicated()
	struck := time.Now()
	for _, r := range runs {
		r.note()
	}
	site.strike()
	served := site.serves(probe)
	calls := site.scripts()
	for _, r := range runs {
		r.newcomers()
	}
	waitUntil(runs, served, lease)
	calls = site.scripts() - calls
	var all []Figures
	for _, r := range runs {
		f := r.figures(struck, served)
		f.Kind, f.Lease, f.Deposed = site.kind, lease, calls
		f.Late = time.Duration(late.Load())
		all = append(all, f)
	}
	for _, r := range runs {
		r.end()
	}
	return all
}

// waitUntil waits until the run is settled: every name was locked, and every hold was renewed or lost.
func waitUntil(runs []*run, served time.Time, lease time.Duration) {
	last := served.Add(lease + lease/3 + 5*time.Second)
	for now := time.Now(); now.Before(last); now = time.Now() {
		done := now.After(served.Add(after))
		for _, r := range runs {
			done = done && r.settled(served)
		}
		if done {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// watchLateness records how late a timer is at worst.
func watchLateness(ctx context.Context) *atomic.Int64 {
	const step = 10 * time.Millisecond
	var worst atomic.Int64
	go func() {
		for ctx.Err() == nil {
			began := time.Now()
			sleep(ctx, step)
			worst.Store(max(worst.Load(), int64(time.Since(began)-step)))
		}
	}()
	return &worst
}

// run is one library's part.
type run struct {
	t       testing.TB
	library Library
	site    *Site
	crowded []Client
	quiet   []Client
	witness *witness
	holds   []*keep
	short   []string
	fresh   []string // a name for each quiet client to lock when the replica serves
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu    sync.Mutex // guards first
	first []time.Time
}

// keep is one of the holds without waiters.
type keep struct {
	held   Held
	told   <-chan struct{}
	struck time.Time // until when it was valid at the loss of the primary
	alone  bool      // its client is alone with the old primary, and must learn that it is lost
}

func (k *keep) lost() bool {
	select {
	case <-k.told:
		return true
	default:
		return false
	}
}

func newRun(t testing.TB, site *Site, library Library, lease time.Duration) *run {
	t.Helper()
	r := &run{t: t, library: library, site: site, witness: newWitness()}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for i := range crowded + quiet {
		client, err := library.Open(site.Client(), lease)
		if err != nil {
			t.Fatalf("failover: %v", err)
		}
		if i < crowded {
			r.crowded = append(r.crowded, client)
		} else {
			r.quiet = append(r.quiet, client)
		}
	}
	clients := append(append([]Client(nil), r.crowded...), r.quiet...)
	for i := range holds {
		name := site.Name()
		client := clients[i%len(clients)]
		held, err := client.Lock(r.ctx, name)
		if err != nil {
			t.Fatalf("failover: %s: %v", library.Name, err)
		}
		k := &keep{held: held, told: held.Told(), alone: site.alone(i)}
		r.holds = append(r.holds, k)
		stay := r.witness.enter(name)
		r.wg.Go(func() {
			select {
			case <-k.told:
			case <-r.ctx.Done():
			}
			r.witness.leave(stay)
		})
	}
	for range quiet {
		r.fresh = append(r.fresh, site.Name())
	}
	for i := range contended + long {
		name, length := site.Name(), section
		if i >= contended {
			length = longSection
		} else {
			r.short = append(r.short, name)
		}
		for _, client := range r.crowded {
			r.wg.Go(func() { r.contend(client, name, length) })
		}
	}
	return r
}

// contend locks a name again and again.
func (r *run) contend(client Client, name string, length time.Duration) {
	for r.ctx.Err() == nil {
		held, err := client.Lock(r.ctx, name)
		if err != nil {
			sleep(r.ctx, 10*time.Millisecond)
			continue
		}
		stay := r.witness.enter(name)
		timer := time.NewTimer(length/2 + rand.N(length))
		select {
		case <-timer.C:
		case <-held.Told():
		case <-r.ctx.Done():
		}
		timer.Stop()
		r.witness.leave(stay)
		_ = held.Unlock() // too late for its result to matter here
	}
}

// note records how long each hold is valid at the loss of the primary.
func (r *run) note() {
	for _, k := range r.holds {
		k.struck = k.held.Until()
	}
}

// newcomers makes the clients without waiters lock a new name.
func (r *run) newcomers() {
	for i, client := range r.quiet {
		r.wg.Go(func() { r.arrive(client, r.fresh[i]) })
	}
}

func (r *run) arrive(client Client, name string) {
	for r.ctx.Err() == nil {
		held, err := client.Lock(r.ctx, name)
		if err != nil {
			sleep(r.ctx, 10*time.Millisecond)
			continue
		}
		r.mu.Lock()
		r.first = append(r.first, time.Now())
		r.mu.Unlock()
		_ = held.Unlock()
		return
	}
}

// settled reports that every name was locked since the failover, and every hold renewed or lost.
func (r *run) settled(served time.Time) bool {
	for _, name := range r.short {
		if !r.witness.entered(name, served.Add(after/2)) {
			return false
		}
	}
	for _, k := range r.holds {
		if !k.lost() && (k.alone || !k.held.Until().After(k.struck)) {
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.first) == quiet
}

func (r *run) figures(struck, served time.Time) Figures {
	now := time.Now()
	f := Figures{Library: r.library.Name, Serves: served.Sub(struck)}
	for _, k := range r.holds {
		if k.lost() {
			f.Lost++
			if k.struck.After(served.Add(2 * time.Second)) {
				f.LostInTime++
				f.Told = append(f.Told, fmt.Sprint(k.held.Why()))
			}
		}
	}
	f.FirstWaiters = clipped(r.witness.first(r.short, served), now).Sub(served)
	r.mu.Lock()
	for _, first := range r.first {
		f.FirstOthers = max(f.FirstOthers, first.Sub(served))
	}
	if len(r.first) < quiet {
		f.FirstOthers = now.Sub(served)
	}
	r.mu.Unlock()
	var stalls []time.Duration
	for _, name := range r.short {
		stalls = append(stalls, r.witness.stall(name, served, now))
		f.Turns += r.witness.count(name)
	}
	f.stalls(stalls)
	for _, o := range r.witness.overlaps(now) {
		f.Overlaps++
		f.OverlapLongest = max(f.OverlapLongest, o.lasted)
		if !explained(o, struck, served) {
			f.Unexplained++
		}
	}
	return f
}

// explained reports that Redis may have lost the write of the first of the two: it was granted just before the
// primary was lost, or while another one already served.
func explained(o overlap, struck, served time.Time) bool {
	return o.first.After(struck.Add(-replica)) && o.first.Before(served.Add(3*time.Second))
}

func clipped(at, end time.Time) time.Time {
	if at.IsZero() {
		return end
	}
	return at
}

func (r *run) end() {
	r.cancel()
	r.wg.Wait()
	for _, k := range r.holds {
		_ = k.held.Unlock()
	}
	for _, client := range append(r.crowded, r.quiet...) {
		_ = client.Close()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
