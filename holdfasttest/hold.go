package holdfasttest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// HoldElsewhere has another process hold the locks of a name: the reentrant one, the fair one, and both sides of the
// read-write lock. Release lets go of them, and does nothing when called again; at the end of the test what is still
// held elsewhere is no error. If a client of the test holds one of them, or the store is frozen, the test ends. For
// permits, and for a hold of another shape, let a further [Lab.Client] hold it.
func (l *Lab) HoldElsewhere(name string) (release func()) {
	l.t.Helper()
	if l.isFrozen() {
		l.t.Fatalf("holdfasttest: HoldElsewhere(%q) while the store is frozen", name)
	}
	var unlocks []func() error
	once := new(sync.Once)
	release = func() {
		l.t.Helper()
		once.Do(func() {
			for _, unlock := range unlocks {
				if err := unlock(); err != nil {
					l.t.Errorf("holdfasttest: release of %q, held elsewhere: %v", name, err)
				}
			}
		})
	}
	// A client has one lock under a name, whatever its kind; the store has one of each kind.
	key := l.key(name)
	for _, wanted := range []*lock.Lock{
		rlock.New(l.elsewhere(elsewhere), key), rwlock.New(l.elsewhere(writing), key).Write(),
	} {
		_, unlock, err := wanted.TryLock(context.Background())
		if err != nil {
			release()
			l.t.Fatalf("holdfasttest: HoldElsewhere(%q): %v", name, err)
		}
		unlocks = append(unlocks, unlock)
	}
	return release
}

// patience is how long Lose and Advance wait outside of a bubble for what must happen soon. It only catches hangs.
const patience = 10 * time.Second

// Lose makes the test's clients lose a lock, for a reason:
//
//   - lock.LossExpired: no renewal was confirmed in time;
//   - lock.LossGone: the key was deleted, and a renewal found that out;
//   - lock.LossMaxHold: it was held for longer than it may be.
//
// Every hold of the name that a Lock has returned ends: its context, with a *lock.LostError of that reason, has ended
// when Lose returns. The lock is free then. Lose first waits until a caller has it, so the test need not wait for the
// code that takes it. If no caller takes it, the test ends: in a bubble as soon as all its goroutines are blocked,
// elsewhere after ten seconds. It works while the store is frozen too; the lock is not free before Thaw then.
func (l *Lab) Lose(name string, reason lock.LossReason) {
	l.t.Helper()
	if reason < lock.LossExpired || reason > lock.LossMaxHold {
		l.t.Fatalf("holdfasttest: Lose(%q): %v is none of the reasons of package lock", name, reason)
	}
	for end := time.Now().Add(patience); ; {
		bubble := settled()
		if l.lose(name, reason) {
			break
		}
		if bubble || time.Now().After(end) {
			l.t.Fatalf("holdfasttest: Lose(%q): no client of the test holds it", name)
		}
		<-time.After(time.Millisecond)
	}
	l.wake() // nothing was published
}

// lose reports false if nobody has the lock. The store is stopped meanwhile, so that nobody is granted the lock before
// the contexts of those have ended that had it. What they leave in the store is deleted rather than released by them,
// which would take its time.
func (l *Lab) lose(name string, reason lock.LossReason) (lost bool) {
	l.server.Freeze()
	defer l.server.Thaw()
	l.mu.Lock()
	members := slices.Clone(l.members)
	l.mu.Unlock()
	var keys []string
	for _, m := range members {
		keys = append(keys, m.engine.Lose(name, hold.Reason(reason))...)
	}
	if len(keys) == 0 {
		return false
	}
	l.await("its contexts end", ending)
	for _, key := range keys {
		l.server.Forget(key)
	}
	return true
}

func ending(m *member) bool { return m.engine.Ending() }

// wake has all waiters look once more, and reports whether there are any.
func (l *Lab) wake() (any bool) {
	for _, m := range l.all() {
		any = m.store.Wake() || any
	}
	return any
}
