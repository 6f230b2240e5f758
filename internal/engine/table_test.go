package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// side is one side of a fake lock: "w" excludes everybody, "r" goes together with "r". Its scripts are
// missing, because the table sends none.
type side struct {
	store.Protocol
	mode, key string
}

func (p side) Name() string { return p.key }
func (p side) Key() string  { return p.key }
func (p side) Mode() string { return p.mode }

func (p side) Traits() *store.Traits { return &store.Traits{Passes: true} }

func (p side) Excludes(held string) bool { return p.mode == "w" || held == "w" }
func (p side) Follows(ahead string) bool { return p.mode == "w" || ahead == "w" }
func (p side) Inherits(held string) bool { return p.mode == "w" && held == "w" }

// floorLease is longer than a test takes.
const floorLease = time.Hour

var floorWant = hold.Want{Terms: hold.Terms{Lease: floorLease, Renewed: true}}

// floor is a table with one name's waiters and holds, by their letters.
type floor struct {
	t       *testing.T
	table   *table
	engine  *Engine
	waiters map[string]*waiter
	holds   map[string]*Grant
}

func newFloor(t *testing.T) *floor {
	e := &Engine{clock: watchdog.NewClock()}
	e.sender = request.New(request.Config{Clock: e.clock})
	e.table.engine = e
	e.wheel = watchdog.NewWheel(e.clock, hold.Tick)
	e.watchdog = watchdog.New(watchdog.Config{
		Wheel: e.wheel, Clock: e.clock, Period: floorLease / 3,
		Renew: func(context.Context, string, []*watchdog.Lease, []watchdog.Result) { t.Error("it is renewed") },
		Lost:  func(*watchdog.Lease, error) { t.Error("it is lost") },
	})
	e.holds = e.host()
	t.Cleanup(func() {
		e.watchdog.Close()
		e.wheel.Close()
	})
	return &floor{
		t: t, engine: e, table: &e.table,
		waiters: make(map[string]*waiter), holds: make(map[string]*Grant),
	}
}

func floorRequest(name string) *Request {
	return &Request{Proto: side{mode: name[:1], key: "k"}, Want: floorWant}
}

// waiter makes a waiter. Its name begins with r or w, and anything may follow.
func (f *floor) waiter(name string) *waiter {
	return f.engine.newWaiter(floorRequest(name), f.engine.clock.Now(), outer{})
}

// come has waiters enter.
func (f *floor) come(who ...string) {
	for _, name := range who {
		f.waiters[name] = f.waiter(name)
		require.True(f.t, f.table.enter(f.waiters[name], false))
	}
}

// key is what the table has of a key; nil if there is nothing.
func (f *floor) key(name string) *Key {
	k := f.table.peek(side{key: name})
	if k != nil {
		k.mu.Unlock()
	}
	return k
}

// keys is how many there are.
func (f *floor) keys() (n int) {
	f.table.each(func(*Key) { n++ })
	return n
}

// granted makes a grant that is not listed, under the mutex of its key.
func (f *floor) granted(k *Key, name string) *Grant {
	fence := int64(f.engine.nonce.Load())
	g, _ := f.engine.newGrantLocked(k, floorRequest(name), f.engine.newID(), fence, f.engine.clock.Now(), 0)
	g.spare = 1
	f.holds[name] = g
	return g
}

// hold makes a grant that is listed nowhere.
func (f *floor) hold(name string) *Grant {
	k := f.table.lock(side{key: "k"})
	defer k.unlock()
	return f.granted(k, name)
}

// add makes a grant that came without a waiter.
func (f *floor) add(name string) {
	k := f.table.lock(side{key: "k"})
	defer k.unlock()
	k.listLocked(f.granted(k, name))
}

// pass ends the Hold of a grant and passes that on.
func (f *floor) pass(name string) (*hold.Hold, bool) {
	f.t.Helper()
	require.True(f.t, f.holds[name].Claim())
	return f.tryPass(name)
}

// tryPass passes a grant on, if its state allows that.
func (f *floor) tryPass(name string) (*hold.Hold, bool) {
	return f.holds[name].key.pass(f.holds[name], f.engine.clock.Now())
}

// win has one that asks come to its hold through Redis.
func (f *floor) win(name string) {
	f.t.Helper()
	f.asking(name)
	w := f.waiters[name]
	w.key.mu.Lock()
	defer w.key.unlock()
	w.key.winLocked(w, f.granted(w.key, name))
}

// asking asserts who may ask Redis, of all that ever came.
func (f *floor) asking(who ...string) {
	f.t.Helper()
	var ask []string
	for name, w := range f.waiters {
		if at, _ := w.look(); at == localqueue.Asking {
			ask = append(ask, name)
		}
	}
	require.ElementsMatch(f.t, who, ask)
}

func (f *floor) empty() {
	f.t.Helper()
	require.Zero(f.t, f.keys(), "a key that nobody needs")
}

func (f *floor) drop(name string) { f.holds[name].key.drop(f.holds[name]) }

// What the table keeps of a key, and how much of it: nothing without a hold or a waiter, and no queue with one hold.
func TestTheTableKeepsWhatIsNeeded(t *testing.T) {
	f := newFloor(t)
	state := func() *Key { return f.key("k") }
	f.come("r1")
	require.NotNil(t, state().queue)
	f.win("r1")
	require.Nil(t, state().queue, "one hold, and nobody waits")
	f.come("r2")
	f.win("r2")
	require.NotNil(t, state().queue, "two holds")
	f.come("w1")
	f.asking()
	require.Nil(t, f.table.find(side{key: "k"}, ""))
	require.Len(t, f.table.all(), 2)
	require.True(t, f.table.held(side{mode: "w", key: "k"}))
	require.False(t, f.table.held(side{mode: "r", key: "k"}))
	f.drop("r1")
	f.asking()
	f.drop("r1") // once more, in vain
	f.asking()
	f.drop("r2")
	f.asking("w1")
	f.win("w1")
	require.Nil(t, state().queue)
	try := f.waiter("w try")
	require.False(t, f.table.enter(try, true))
	require.Nil(t, state().queue, "a try that is refused leaves nothing")
	f.come("w2")
	next, _ := f.pass("w1")
	require.NotNil(t, state().queue, "a run is remembered")
	h, left := f.waiters["w2"].leave()
	require.Same(t, next, h, "a waiter that leaves passes it on")
	require.Equal(t, localqueue.Remains{Hold: true}, left)
	f.drop("w1")
	f.empty()
	require.True(t, f.table.enter(try, true))
	try.leave()
	f.empty()
}

// The table's queue of a key knows the mode of the hold that was there before the queue was.
func TestAQueueKnowsTheHoldThatWasThereBefore(t *testing.T) {
	f := newFloor(t)
	f.add("r1")
	f.come("w1", "r2")
	f.asking()
	f.drop("r1")
	f.asking("w1")
	f.add("r3")
	f.waiters["w1"].leave()
	f.asking("r2")
	f.waiters["r2"].leave()
	f.drop("r3")
	f.empty()
}

// A caller that comes to a key as it is removed makes another one.
func TestAKeyThatIsRemovedIsNotEntered(t *testing.T) {
	f := newFloor(t)
	old := f.table.lock(side{key: "k"})
	found := make(chan *Key)
	go func() { found <- f.table.lock(side{key: "k"}) }()
	time.Sleep(10 * time.Millisecond) // it waits for the mutex
	old.unlock()
	k := <-found
	require.NotSame(t, old, k)
	require.Same(t, k, f.table.get("k", store.OneHolder))
	k.unlock()
	f.empty()
}
