package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
)

// operation is what a worker does with a lock.
type operation struct {
	name   string
	weight int // how often, compared to the others
	do     func(w *worker, op string, on locks)
	on     []string // of these names only; nil: of all that clients contend for
}

// operations are all that a worker does under faults, besides importing.
var operations = []operation{
	{name: "lock", weight: 38, do: func(w *worker, op string, on locks) {
		w.enter(context.Background(), op, on.plain, on.plain.Lock, w.span())
	}},
	{name: "try", weight: 12, do: func(w *worker, op string, on locks) {
		w.enter(context.Background(), op, on.plain, on.plain.TryLock, w.span())
	}},
	{name: "max-wait", weight: 10, do: func(w *worker, op string, on locks) {
		w.enter(context.Background(), op, on.short, on.short.Lock, w.span())
	}},
	{name: "fixed-lease", weight: 10, do: func(w *worker, op string, on locks) {
		w.enter(context.Background(), op, on.fixed, on.fixed.Lock, w.span())
	}},
	{name: "deadline", weight: 10, do: func(w *worker, op string, on locks) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+w.random.IntN(50))*time.Millisecond)
		defer cancel()
		w.enter(ctx, op, on.plain, on.plain.Lock, w.span())
	}},
	{name: "do", weight: 8, do: (*worker).within},
	{name: "max-hold", weight: 3, do: func(w *worker, op string, on locks) {
		span := w.client.maxHold() * time.Duration(w.random.IntN(14)) / 10
		w.enter(context.Background(), op, on.capped, on.capped.Lock, span)
	}},
	{name: "keep", weight: 12, do: func(w *worker, op string, on locks) {
		// Now and then without a request, if it was kept.
		for range 1 + w.random.IntN(4) {
			w.enter(context.Background(), op, on.kept, on.kept.Lock, w.span()/4)
		}
	}, on: names},
	{name: "export", weight: 4, do: (*worker).export, on: names},
	{name: "own", weight: 4, do: (*worker).own},
	{name: "break", weight: 3, do: (*worker).breakIn, on: names},
	{name: "read", weight: 10, do: (*worker).read},
	{name: "set", weight: 6, do: (*worker).set},
	{name: "permit", weight: 8, do: (*worker).permit},
}

// operations are those of a client. Where the store forgets there is no fixed lease: it is not renewed, so its holder
// would not learn of a loss. Where it does not, no worker takes a lock from another process, which would learn of that
// too late to avoid an overlap. Only one Redis keeps a lock that nobody holds; etcd, ZooKeeper and redlock export none.
func (o orders) operations() []operation {
	return slices.DeleteFunc(slices.Clone(operations), func(op operation) bool {
		switch op.name {
		case "fixed-lease":
			return o.Forgets
		case "break":
			return !o.Forgets
		case "keep":
			return !o.Site.redis()
		case "export":
			return o.Site.agrees() || o.Site == Quorum
		case "read", "set", "permit":
			return !o.takesAll()
		}
		return false
	})
}

// does reports whether an operation is one of the client's.
func (c *client) does(name string) bool {
	return slices.ContainsFunc(c.may, func(op operation) bool { return op.name == name })
}

// choose picks an operation.
func (w *worker) choose() operation {
	total := 0
	for _, o := range w.client.may {
		total += o.weight
	}
	n := w.random.IntN(total)
	for _, o := range w.client.may {
		if n -= o.weight; n < 0 {
			return o
		}
	}
	panic("unreachable: n is less than the sum of the weights")
}

// roam does one operation of any kind, on any name.
func (w *worker) roam() {
	select {
	case p := <-w.client.imports:
		w.take(p)
		return
	default:
	}
	o := w.choose()
	on := o.on
	if on == nil {
		on = w.client.contended()
	}
	o.do(w, o.name, w.locks[on[w.random.IntN(len(on))]])
}

// live does one operation that must succeed.
func (w *worker) live() {
	contended := w.client.contended()
	on := w.locks[contended[w.random.IntN(len(contended))]]
	l := on.plain
	if w.random.IntN(4) == 0 {
		l = on.fixed
	}
	w.enter(context.Background(), "live", l, l.Lock, time.Duration(w.random.IntN(2000))*time.Microsecond)
}

// within takes the lock by Do.
func (w *worker) within(op string, on locks) {
	c, span := Call{Client: w.name, Op: op, Called: stamp.Now()}, w.span()
	var s *stay
	begun := false
	err := on.plain.Do(context.Background(), func(held context.Context) error {
		s = w.arrive(c, on.plain, held, nil)
		begun = s.visit(span, true)
		return nil
	})
	if s == nil {
		w.arrive(c, on.plain, nil, err)
		return
	}
	w.left(s, begun, err)
}

// export takes the lock, and exports it for another process.
func (w *worker) export(op string, on locks) {
	c := Call{Client: w.name, Op: op, Called: stamp.Now()}
	held, unlock, err := on.plain.Lock(context.Background())
	s := w.arrive(c, on.plain, held, err)
	if s == nil {
		return
	}
	if !s.visit(w.span(), false) {
		w.left(s, false, unlock())
		return
	}
	token, err := on.plain.Export(held)
	if w.outcome("exported", err) == outcomeOK {
		w.client.tell(fmt.Sprintln(lineExport, s.Name, s.ID, token))
	}
	if held.Err() == nil {
		w.bad("the context of an exported hold goes on")
	}
	if err := unlock(); err == nil {
		w.bad("a hold was exported, and unlocked")
	}
}

// take takes over a hold that another process exported.
func (w *worker) take(p passage) {
	l := w.locks[p.name].plain
	c := Call{Client: w.name, Op: "import", Called: stamp.Now()}
	held, unlock, err := l.Import(context.Background(), p.token)
	if s := w.arrive(c, l, held, err); s != nil {
		s.From = p.id
		begun := s.visit(w.span(), true)
		w.left(s, begun, unlock())
	}
}

// own takes a lock that no other process wants, and now and then another worker of this process breaks it
// meanwhile. That ends the hold here before another worker can get the lock, so no two may overlap.
func (w *worker) own(op string, _ locks) {
	l := w.locks[w.client.own].plain
	c := Call{Client: w.name, Op: op, Called: stamp.Now()}
	held, unlock, err := l.Lock(context.Background())
	s := w.arrive(c, l, held, err)
	if s == nil {
		return
	}
	var breaker sync.WaitGroup
	broken := false
	if w.random.IntN(3) == 0 {
		breaker.Go(func() { broken = w.takeAway(l) })
	}
	begun := s.visit(w.span(), true)
	breaker.Wait()
	if _, err := l.Held(held); broken && err == nil {
		w.bad("a lock was broken here, and is held all the same")
	}
	w.left(s, begun, unlock())
}

// breakIn takes a lock from its holder, which is a loss like the others.
func (w *worker) breakIn(_ string, on locks) { w.takeAway(on.plain) }

func (w *worker) takeAway(l *lock.Lock) bool {
	c := Call{Client: w.name, Op: "break", Called: stamp.Now()}
	err := l.Break(context.Background())
	c.Returned, c.Outcome = stamp.Now(), w.outcome(c.Op, err)
	w.client.tell(callLine(c))
	w.client.tell(breakLine(l.Name(), c))
	return err == nil
}

func (w *worker) bad(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.client.tell(lineBad + " " + w.name + " " + strings.Join(strings.Fields(text), " ") + "\n")
}

// locks are the handles of one name.
type locks struct {
	plain, short, fixed, capped *lock.Lock
	kept                        *lock.Lock // nil: the kind cannot be kept
}

// maxHold is what those handles that have a MaxHold are given.
func (c *client) maxHold() time.Duration { return c.Lease / 12 }

func (c *client) locks(name string) locks {
	fixed := c.Lease / 2
	if c.Site.agrees() {
		fixed = c.Lease // half of it may be less than a lease can be
	}
	of := c.maker(name)
	all := locks{
		plain:  of(name),
		short:  of(name, lock.MaxWait(c.Lease/8)),
		fixed:  of(name, lock.FixedLease(fixed)),
		capped: of(name, lock.MaxHold(c.maxHold())),
	}
	if slices.Contains(names, name) && c.does("keep") {
		all.kept = of(name, lock.Keep(min(c.Lease, time.Second)))
	}
	return all
}
