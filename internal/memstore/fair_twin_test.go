package memstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// twinTimes are long against what a test takes. No sum of twinAges comes close to one of them.
var twinTimes = store.QueueTimes{
	Life: 60_000, Step: 15_100, Unused: 600_000, Grant: 20_000, Restore: 10_000, Run: 30_000, Pause: 5_000,
}

var twinAges = []int64{4_100, 45_000} // of which the second counts for a step, and is longer than a lease

const twinLease = 40 * time.Second

var clientsOfTwins = []string{"a", "b", "c"}

// twin is a fair lock in Redis, or in memory.
type twin interface {
	acquire(ask store.Ask) store.AcquireReply
	enqueue(asks []store.Ask) store.EnqueueReply
	release(id string, served []string) store.ReleaseReply
	come(id string, lease time.Duration) store.Status // somebody who does not know of the queue
	leave(id string) store.ReleaseReply
	adopt(from, to string, lease time.Duration) store.Status
	nest(id string, from, to int64) int64
	keep(id string, ttl time.Duration) bool
	waiters() []string

	age(ms int64)     // has time pass for the queue
	lose(part string) // of what stands: lock, queue, alive or record
	listen(strangers bool)
	told() []string
	stands(named func(ticket int64) string) (text string, times []int64)
}

// inMemory is a fair lock as this package keeps it.
type inMemory struct {
	fair
	bell *bell
}

// bell is a network that notes messages, and carries none.
type bell struct{ rung []string }

func (b *bell) Fate(r Request) Fate {
	b.rung = append(b.rung, r.Key)
	return Fate{Lost: true}
}

func newInMemory(rules store.Queue, name string) *inMemory {
	b := new(bell)
	s := NewServer(b)
	m := &inMemory{newFair(place{s, name, ""}, rules), b}
	for _, of := range clientsOfTwins {
		m.hears(m.to + of)
	}
	return m
}

func (m *inMemory) hears(channel string) {
	sub := &subscription{store: m.Store(0, true), channel: channel}
	m.channels[channel] = []listener{{sub: sub}}
}

func (m *inMemory) acquire(ask store.Ask) store.AcquireReply {
	reply, _ := m.fair.acquire(timedAsk{Ask: ask})
	return reply
}

func (m *inMemory) enqueue(asks []store.Ask) store.EnqueueReply {
	reply, _ := m.fair.enqueue(asks)
	return reply
}

func (m *inMemory) release(id string, served []string) store.ReleaseReply {
	return m.fair.serving(served).release(id)
}

func (m *inMemory) come(id string, lease time.Duration) store.Status {
	reply, _ := m.plain.acquire(timedAsk{Ask: store.Ask{ID: id, Lease: lease}})
	return reply.Status
}

func (m *inMemory) leave(id string) store.ReleaseReply { return m.plain.release(id) }

func (m *inMemory) adopt(from, to string, lease time.Duration) store.Status {
	return m.plain.adopt(store.Ask{ID: to, From: from, Lease: lease})
}

func (m *inMemory) nest(id string, from, to int64) int64 { return m.levels(id, from, to) }

func (m *inMemory) keep(id string, ttl time.Duration) bool { return m.renew(id, ttl) }

func (m *inMemory) waiters() (ids []string) {
	for _, one := range m.inspect().Queue {
		ids = append(ids, one.ID)
	}
	return ids
}

func (m *inMemory) age(ms int64) {
	if r := m.lineLocked(m.key).record; r != nil {
		r.seen -= ms
		r.ends -= ms
	}
}

func (m *inMemory) lose(part string) {
	l := m.lineLocked(m.key)
	switch part {
	case "lock":
		delete(m.locks, m.key)
	case "queue":
		l.places = nil
	case "alive":
		clear(l.alive)
	case "record":
		l.record = nil
	}
}

func (m *inMemory) listen(strangers bool) {
	delete(m.channels, m.channel)
	if strangers {
		m.hears(m.channel)
	}
}

func (m *inMemory) told() []string {
	rung := m.bell.rung
	m.bell.rung = nil
	slices.Sort(rung)
	return rung
}

func (m *inMemory) stands(named func(ticket int64) string) (text string, times []int64) {
	var b strings.Builder
	var r record
	var life [4]time.Duration
	if l := m.lockLocked(m.key); l != nil {
		fmt.Fprintf(&b, "%s=%d ", l.id, l.count)
		life[0] = m.leftLocked(l.expires)
	}
	l := m.lineLocked(m.key)
	for _, p := range l.places {
		fmt.Fprintf(&b, "%s at %s, ", p.id, named(p.ticket))
		life[1] = m.leftLocked(l.placesEnd)
	}
	if l.record != nil {
		r, life[3] = *l.record, m.leftLocked(l.recordEnd)
	}
	for _, of := range slices.Sorted(maps.Keys(l.alive)) {
		fmt.Fprintf(&b, "%s lives, ", of)
		times = append(times, l.alive[of]-r.clock)
		life[2] = m.leftLocked(l.aliveEnd)
	}
	fmt.Fprintf(&b, "granted %s, lone %s", r.granted, r.lone)
	for _, one := range life {
		times = append(times, one.Milliseconds())
	}
	for _, at := range []int64{r.out, r.run, r.buried} {
		times = append(times, since(at, r.clock))
	}
	return b.String(), times
}

// pair is the two of them. Each has its own tickets, which get names in the order in which they are made.
type pair struct {
	*testing.T
	*rand.Rand
	both  [2]twin
	names [2]map[int64]string
	last  [2]map[string]int64 // by waiter: the ticket that it was given
	log   []string
}

func (p *pair) named(side int) func(ticket int64) string {
	return func(ticket int64) string {
		names := p.names[side]
		if ticket != 0 && names[ticket] == "" {
			names[ticket] = fmt.Sprintf("#%d", len(names)+1)
		}
		return names[ticket]
	}
}

// same has both do something, and compares what they say, whom they tell, and what stands then.
func (p *pair) same(what string, do func(side int, of twin) (said string, times []int64)) {
	p.log = append(p.log, what)
	var said [2]string
	var times [2][]int64
	for i, of := range p.both {
		answer, when := do(i, of)
		told := of.told()
		text, more := of.stands(p.named(i))
		said[i] = fmt.Sprintf("says %s; tells %v; stands %s", answer, told, text)
		times[i] = append(when, more...)
	}
	p.log[len(p.log)-1] += ": " + said[0]
	steps := strings.Join(p.log, "\n")
	require.Equal(p, said[0], said[1], "of Redis, and of the memory; %s", steps)
	require.InDeltaSlice(p, floats(times[0]), floats(times[1]), 900, "%v and %v; %s", times[0], times[1], steps)
}

func floats(all []int64) (out []float64) {
	for _, one := range all {
		out = append(out, float64(one))
	}
	return out
}

func (p *pair) id() string {
	return fmt.Sprintf("%s:%d", clientsOfTwins[p.IntN(len(clientsOfTwins))], p.IntN(4))
}

// holder is who has the lock, or is invited, or somebody else.
func (p *pair) holder() string {
	text, _ := p.both[0].stands(p.named(0))
	if id, _, held := strings.Cut(text, "="); held && p.IntN(5) > 0 {
		return id
	}
	return p.id()
}

// asks is the same request of both, each with the tickets that it gave.
func (p *pair) asks(ids ...string) (asks [2][]store.Ask) {
	for _, id := range ids {
		ask := store.Ask{ID: id, Lease: twinLease, Once: p.IntN(8) == 0}
		knows := p.IntN(4) > 0
		for i := range asks {
			if ask.Ticket = 0; knows {
				ask.Ticket = p.last[i][id]
			}
			asks[i] = append(asks[i], ask)
		}
	}
	return asks
}

func (p *pair) acquire() {
	id := p.id()
	if p.IntN(2) == 0 {
		id = p.holder()
	}
	asks := p.asks(id)
	p.same(fmt.Sprintf("acquire %+v", asks[0]), func(side int, of twin) (string, []int64) {
		r := of.acquire(asks[side][0])
		if r.Ticket != 0 {
			p.last[side][id] = r.Ticket
		}
		name := p.named(side)
		said := fmt.Sprintf("%v %s, lapsed %v, next %s, swapped %v, also %s, token %v",
			r.Status, name(r.Ticket), r.Lapsed, name(r.Next), r.Swapped, r.Also, r.Fence != 0)
		return said, []int64{r.PTTL.Milliseconds()}
	})
}

func (p *pair) enqueue() {
	of, ids := clientsOfTwins[p.IntN(len(clientsOfTwins))], []string(nil)
	for _, n := range p.Perm(4)[:1+p.IntN(4)] {
		ids = append(ids, fmt.Sprintf("%s:%d", of, n))
	}
	asks := p.asks(ids...)
	p.same(fmt.Sprintf("enqueue %v", ids), func(side int, of twin) (string, []int64) {
		r := of.enqueue(asks[side])
		name := p.named(side)
		said := fmt.Sprintf("%v, lapsed %v,", r.Status, r.Lapsed)
		for i, ticket := range r.Tickets {
			p.last[side][ids[i]] = ticket
			said += " " + name(ticket)
		}
		return said + ", next " + name(r.Next), nil
	})
}

func (p *pair) release() {
	id, served := p.holder(), []string(nil)
	for range p.IntN(3) {
		served = append(served, p.id())
	}
	p.same(fmt.Sprintf("release %s after %v", id, served), func(_ int, of twin) (string, []int64) {
		r := of.release(id, served)
		return fmt.Sprint(r.Status, r.Receivers), nil
	})
}

func (p *pair) step() {
	const stranger = "s:1"
	switch n := p.IntN(100); {
	case n < 40:
		p.acquire()
	case n < 55:
		p.enqueue()
	case n < 78:
		p.release()
	case n < 81:
		p.same("a stranger comes", func(_ int, of twin) (string, []int64) {
			return fmt.Sprint(of.come(stranger, twinLease)), nil
		})
	case n < 84:
		p.same("a stranger leaves", func(_ int, of twin) (string, []int64) {
			return fmt.Sprint(of.leave(stranger)), nil
		})
	case n < 87:
		on := p.IntN(3) == 0
		p.same(fmt.Sprintf("strangers listen: %v", on), func(_ int, of twin) (string, []int64) {
			of.listen(on)
			return "", nil
		})
	case n < 90:
		p.change()
	case n < 97:
		ms := twinAges[p.IntN(len(twinAges))]
		p.same(fmt.Sprintf("%d ms pass", ms), func(_ int, of twin) (string, []int64) {
			of.age(ms)
			return fmt.Sprint(of.waiters()), nil
		})
	default:
		part := []string{"lock", "lock", "lease", "lease", "queue", "alive", "record"}[p.IntN(7)]
		p.same("lost: "+part, func(_ int, of twin) (string, []int64) {
			if part == "lease" { // it runs out
				of.age(twinAges[1])
				of.lose("lock")
			}
			of.lose(part)
			return "", nil
		})
	}
}

// change does something to the hold.
func (p *pair) change() {
	id, to, n := p.holder(), p.id(), 1+p.Int64N(3)
	switch what := p.IntN(3); {
	case what == 0 && id == to:
	case what == 0:
		p.same(fmt.Sprintf("%s adopts %s", to, id), func(_ int, of twin) (string, []int64) {
			return fmt.Sprint(of.adopt(id, to, twinLease)), nil
		})
	case what == 1:
		from := 1 + p.Int64N(3)
		p.same(fmt.Sprintf("%s has %d levels, not %d", id, n, from), func(_ int, of twin) (string, []int64) {
			return fmt.Sprint(of.nest(id, from, n)), nil
		})
	default:
		p.same("renew "+id, func(_ int, of twin) (string, []int64) { return fmt.Sprint(of.keep(id, twinLease)), nil })
	}
}

// What the memory answers, tells and keeps of a fair lock is what Redis does, whatever is asked for in whichever order.
func TestFairInMemoryIsFairInRedis(t *testing.T) {
	t.Parallel()
	const locks, steps = 60, 60
	rdb := redistest.Shared(t).Client(t)
	for range locks {
		seed := rand.Uint64()
		r := newInRedis(t, rdb, redistest.Key(t))
		m := newInMemory(store.Queue{Times: twinTimes, Client: r.keys.Client, Strangers: r.keys.Channel}, r.keys.Lock)
		p := &pair{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), both: [2]twin{r, m}, log: []string{fmt.Sprint("seed ", seed)}}
		for i := range p.both {
			p.names[i], p.last[i] = map[int64]string{0: "none"}, make(map[string]int64)
		}
		for range steps {
			p.step()
		}
	}
}
