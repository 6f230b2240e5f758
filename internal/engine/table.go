package engine

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// table is the Keys of a client, by their layouts and names. Whether a Key is in it is decided under the mutex of the
// Key, which is marked dead as it is removed. The maps have no mutex that calls on different names would take from one
// another.
type table struct {
	engine   *Engine
	deserted deserted
	keys     [store.Layouts]sync.Map // *Key by string
}

// lock returns the Key of a lock with its mutex held, and makes it if there is none. A Key that another step removes
// meanwhile is dead by the time its mutex is free, and out of the table: the next look makes a new one.
func (t *table) lock(p store.Rules) *Key {
	t.deserted.removeOver(t.engine.clock)
	name, layout := p.Key(), p.Traits().Layout
	for {
		k := t.get(name, layout)
		if k == nil {
			k = t.make(name, layout)
		}
		k.mu.Lock()
		if !k.dead {
			return k
		}
		k.mu.Unlock()
	}
}

// lockAlone is lock for what the store has just granted to a request, and that is listed next. Before that, the grants
// of this process that it excludes are lost, and their contexts have ended: the store can have granted it only because
// they are gone, which nobody here was told of. Somebody has deleted the key, or this process stood still for longer
// than the lease. A hold of another side, under which the request was asked for, stays.
//
// Contexts may take long to end, so the mutex is let go meanwhile; then the key is looked at again.
func (t *table) lockAlone(p store.Protocol, under string) *Key {
	var ended []*Grant
	for {
		k := t.lock(p)
		beside := k.besideLocked(p, under, ended)
		if len(beside) == 0 {
			return k
		}
		k.unlock()
		for _, g := range beside {
			g.supersede()
		}
		ended = append(ended, beside...)
	}
}

var errSuperseded = errors.New("the store has granted the lock to another call of this process")

// supersede ends the grant because another one of this process has come that cannot stand beside it. It is released as
// well: of two requests that were granted one after the other the answers may come in any order.
func (g *Grant) supersede() {
	rest := g.losing(hold.Gone, errSuperseded)
	if rest == nil {
		g.Left().Contexts()
		return
	}
	rest()
	g.engine().sender.Disown(g.disowned(0))
}

// get returns the Key of a lock, which may be dead by the time its mutex is taken; nil if there is none.
func (t *table) get(name string, layout store.Layout) *Key {
	k, _ := t.keys[layout].Load(name)
	found, _ := k.(*Key)
	return found
}

// make returns the Key of a lock, as get does, and makes it if there is still none.
func (t *table) make(name string, layout store.Layout) *Key {
	k, _ := t.keys[layout].LoadOrStore(name, &Key{table: t, name: name, layout: layout})
	return k.(*Key)
}

// remove takes a Key out, which the caller has marked dead.
func (t *table) remove(k *Key) { t.keys[k.layout].Delete(k.name) }

// peek returns the Key of a lock with its mutex held; nil if there is none. The caller changes nothing that could leave
// the Key without a need, and unlocks the mutex.
func (t *table) peek(p store.Rules) *Key { return t.peekAt(p.Key(), p.Traits().Layout) }

func (t *table) peekAt(name string, layout store.Layout) *Key {
	k := t.get(name, layout)
	if k != nil {
		k.mu.Lock()
	}
	return k // empty if it is dead
}

// each calls f with each Key in turn, under its mutex: what it sees is not of one instant.
func (t *table) each(f func(k *Key)) {
	for i := range t.keys {
		t.keys[i].Range(func(_, at any) bool {
			k := at.(*Key)
			k.mu.Lock()
			f(k)
			k.mu.Unlock()
			return true
		})
	}
}

// all returns every grant there is, not all at one instant. Its callers (Close, and a change of the primary) can do
// with that, since a grant that is listed after its Key was looked at belongs to a request that was sent after the
// event, or finds the sender closed.
func (t *table) all() (grants []*Grant) {
	t.each(func(k *Key) { grants = slices.AppendSeq(grants, k.grantsLocked()) })
	return grants
}

// waiting are those of a mode that stand in a key's queue.
func (t *table) waiting(p store.Rules) (line []Queued) {
	k := t.peek(p)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	for w := range k.waitersLocked() {
		if w.Kind.Mode() == p.Mode() {
			line = append(line, Queued{ID: w.ID, Since: t.engine.clock.Wall(w.Since), Mine: true})
		}
	}
	return line
}

// find finds a grant of this process by its id; nil if it is not there.
func (t *table) find(p store.Rules, id string) *Grant {
	return t.findAt(p.Key(), p.Traits().Layout, id)
}

func (t *table) findAt(name string, layout store.Layout, id string) *Grant {
	k := t.peekAt(name, layout)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	if k.grant != nil && k.grant.id == id {
		return k.grant
	}
	return k.othersLocked()[id]
}

// held reports that a local hold is in the way of a request. It may be gone when the caller acts on that; the step
// that ends it lets the next in its queue ask, so nobody waits for a hold that is gone.
func (t *table) held(proto store.Protocol) bool {
	k := t.peek(proto)
	if k == nil {
		return false
	}
	defer k.mu.Unlock()
	for g := range k.grantsLocked() {
		if proto.Excludes(g.proto.Mode()) {
			return true
		}
	}
	return false
}

// answerAll ends the wait of everybody who came before an instant: one looked for all, at what no waiter takes from
// another (a latch that is open is open to all of them).
func (t *table) answerAll(proto store.Protocol, asked time.Duration) {
	k := t.lock(proto)
	defer k.unlock()
	k.queueLocked().AnswerAll(asked, func(w *localqueue.Waiter) { waiterOf(w).hold = nothing })
}

// deserted are the Keys that nobody holds or waits for, and that remember what the process owes to others: a goroutine
// that unlocks and locks again finds it then. No timer ends that: the next call that locks anything removes what is
// over, in the order in which they were deserted, and the oldest beyond maxDeserted. For a key that is removed early,
// nothing is owed any more.
type deserted struct {
	any atomic.Bool // there is one; written under the mutex

	mu   sync.Mutex // guards what is below; taken under that of a Key, and no other is taken under it
	line []desertion
}

// desertion is that nobody held or waited for a key from an instant on, and until when the key is remembered. There may
// be several of one key, of which the last counts, and none if somebody came back since.
type desertion struct {
	key       *Key
	at, until time.Duration
}

const maxDeserted = 1024

// add notes that a key is deserted, under its mutex.
func (d *deserted) add(one desertion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line = append(d.line, one)
	d.any.Store(true)
}

// removeOver removes the keys that have been deserted for long enough, and the oldest of too many.
func (d *deserted) removeOver(clock *watchdog.Clock) {
	if !d.any.Load() {
		return
	}
	now := clock.Now()
	d.mu.Lock()
	n, early := 0, max(len(d.line)-maxDeserted, 0)
	for n < len(d.line) && (n < early || now >= d.line[n].until) {
		n++
	}
	over := slices.Clone(d.line[:n])
	d.line = slices.Delete(d.line, 0, n)
	d.any.Store(len(d.line) > 0)
	d.mu.Unlock()
	for _, one := range over {
		one.key.removeDeserted(one.at)
	}
}
