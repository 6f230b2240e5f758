package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
)

// ways are all the ways in: how a caller comes to hold a lock. What one of them owes its caller, and others, all of
// them owe. A new way is added here, and so is asked for each duty.
var ways = []way{
	{"Lock", 0, asks, func(t *testing.T, lab Lab, a approach) turn {
		return turnOf(lab.Lock(a.client, a.name, a.opts...).Lock(a.ctx))
	}},
	{"TryLock", 0, asks, func(t *testing.T, lab Lab, a approach) turn {
		return turnOf(lab.Lock(a.client, a.name, a.opts...).TryLock(a.ctx))
	}},
	{"Do", 0, asks, func(t *testing.T, lab Lab, a approach) turn {
		return doing(a.ctx, lab.Lock(a.client, a.name, a.opts...))
	}},
	{"Import", Moves, takesOver, imported},
	{"a set's Lock", Sets, asksForSeveral, func(t *testing.T, lab Lab, a approach) turn {
		return turnOf(setWith(t, lab, a).Lock(a.ctx))
	}},
	{"a set's TryLock", Sets, asksForSeveral, func(t *testing.T, lab Lab, a approach) turn {
		return turnOf(setWith(t, lab, a).TryLock(a.ctx))
	}},
	{"a set's Do", Sets, asksForSeveral, func(t *testing.T, lab Lab, a approach) turn {
		return doing(a.ctx, setWith(t, lab, a))
	}},
}

// way is a way in.
type way struct {
	name  string
	needs Lacks
	kind  wayKind
	enter func(t *testing.T, lab Lab, a approach) turn
}

type wayKind int

const (
	asks           wayKind = 1 << iota // for a lock that others may have
	takesOver                          // what nobody else can have
	asksForSeveral                     // as asks, for a set: Keep, Yields and MinHold are not for it
)

// approach is how a way in is used.
type approach struct {
	ctx    context.Context
	client int
	name   string
	opts   []lock.Option
}

func turnOf(held context.Context, unlock func() error, err error) turn {
	return turn{held, unlock, err}
}

// doing is Do as a turn: its unlock has the function return.
func doing(ctx context.Context, l lock.Locker) turn {
	inside, leave, result := make(chan context.Context, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		result <- l.Do(ctx, func(held context.Context) error {
			inside <- held
			<-leave
			return nil
		})
	}()
	select {
	case held := <-inside:
		return turn{held, sync.OnceValue(func() error { close(leave); return <-result }), nil}
	case err := <-result:
		return turn{ctx, func() error { return lock.ErrNotHeld }, err}
	}
}

// imported takes the lock, exports it, and imports it in the way that is asked for.
func imported(t *testing.T, lab Lab, a approach) turn {
	l := lab.Lock(a.client, a.name)
	held, _ := take(t, within(t), l)
	token, err := l.(mover).Export(held)
	require.NoError(t, err)
	return turnOf(lab.Lock(a.client, a.name, a.opts...).(mover).Import(a.ctx, token))
}

// setWith is a set of the lock and another one, which is asked for first.
func setWith(t *testing.T, lab Lab, a approach) *multilock.Lock {
	t.Helper()
	members := []*lock.Lock{own(t, lab, a.client, "0:"+a.name), own(t, lab, a.client, a.name)}
	return multilock.New(members, a.opts...)
}

// duties are what is owed in every way. Each is a case that goes through the ways of a kind.
var duties = []contract{
	{"EveryWayInTellsTheObserver", Listeners | Exclusion, each(asks|takesOver|asksForSeveral, tellsObserver)},
	{"EveryWayInEndsByMaxHold", 0, each(asks|takesOver|asksForSeveral, endsByMaxHold)},
	{"EveryWayInHasItsGrace", Options, haveGrace},
	{"EveryWayInHasItsMinHold", Options | MinHolds, each(asks|takesOver, hasMinHold)},
	{"EveryWayInRefusesTheContextOfAHold", Options | Reentry, each(asks|asksForSeveral, refusesHold)},
	{"EveryWayInIsRefusedAlike", Exclusion, each(asks|asksForSeveral, isRefused)},
	{"EveryWayInIsOverWithItsClient", 0, each(asks|asksForSeveral, isOverWithClient)},
	{"EveryWayInAnswersAContextThatIsOver", 0, each(asks|asksForSeveral, answersOver)},
	{"AnImportAnswersAContextThatIsOver", Moves, importAnswersOver},
	{"EveryWayInLearnsThatOthersWait", Keeping, each(asks|takesOver, learnsOfOthers)},
	{"EveryWayInCallsAKeptLockBack", Keeping | Listeners, each(asks|asksForSeveral, callsBack)},
}

// each is a case that checks each way of a kind, with a name of its own.
func each(kinds wayKind, check func(t *testing.T, lab Lab, w way)) func(*testing.T, Lab) {
	return func(t *testing.T, lab Lab) {
		for _, w := range ways {
			if w.kind&kinds != 0 && lab.Lacks&w.needs == 0 {
				t.Log(w.name)
				check(t, lab, w)
			}
		}
	}
}

// in uses a way, and fails the test if that fails.
func (w way) in(t *testing.T, lab Lab, n string, opts ...lock.Option) turn {
	t.Helper()
	got := w.enter(t, lab, approach{within(t), 0, n, opts})
	require.NoError(t, got.err, w.name)
	return got
}

// marked marks the calls of a way that is observed.
type marked struct{}

// tellsObserver: every Begin has its End, and every Held its Ended.
func tellsObserver(t *testing.T, lab Lab, w way) {
	n := name(t)
	var mu sync.Mutex
	var told []Event
	lab.Listener(0).Hear(func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Ctx != nil && e.Ctx.Value(marked{}) != nil {
			told = append(told, e)
		}
	})
	defer lab.Listener(0).Hear(nil)
	is := func(why string, names ...string) []Event {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		var got []string
		for _, e := range told {
			got = append(got, e.Name)
			require.Equal(t, told[0].Call.Name, e.Call.Name, "%s: %s", w.name, e.Name)
			require.Equal(t, lab.Stats(0).Store, e.Call.Store, "%s: %s", w.name, e.Name)
			require.NotEmpty(t, string(e.Call.Store), "%s: %s", w.name, e.Name)
		}
		require.Equal(t, names, got, w.name+": "+why)
		defer func() { told = nil }()
		return told
	}
	ctx := context.WithValue(within(t), marked{}, true)
	h := w.enter(t, lab, approach{ctx, 0, n, nil})
	require.NoError(t, h.err, w.name)
	begun := is("it holds", "Begin", "Held", "End")
	require.NoError(t, begun[2].Err)
	require.NoError(t, h.unlock())
	require.NoError(t, is("it was unlocked", "Ended")[0].Err)
	if w.kind == takesOver {
		return
	}
	_, unlock := take(t, within(t), lab.Lock(1, n))
	ctx = context.WithValue(within(t), marked{}, true)
	err := Answered(func(d time.Duration) error {
		mu.Lock()
		told = nil
		mu.Unlock()
		return w.enter(t, lab, approach{ctx, 0, n, []lock.Option{lock.MaxWait(d)}}).err
	})
	only(t, err, lock.ErrBusy)
	only(t, is("it is busy", "Begin", "End")[1].Err, lock.ErrBusy)
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(0, n))
}

func endsByMaxHold(t *testing.T, lab Lab, w way) {
	n := name(t)
	h := w.in(t, lab, n, lock.MaxHold(brief/8))
	loss(t, ended(t, h.held), lock.LossMaxHold)
	loss(t, h.unlock(), lock.LossMaxHold)
	soonFree(t, lab.Lock(1, n))
}

// haveGrace: a hold that is not renewed ends before its lease. They wait for that together.
func haveGrace(t *testing.T, lab Lab) {
	fixed, holds := lab.Leases.Fit(3*time.Second), make(map[string]turn)
	each(asks|takesOver|asksForSeveral, func(t *testing.T, lab Lab, w way) {
		holds[w.name] = w.in(t, lab, name(t), lock.FixedLease(fixed), lock.Grace(fixed/2))
	})(t, lab)
	for way, h := range holds {
		cause := ended(t, h.held)
		loss(t, cause, lock.LossExpired)
		require.True(t, strings.Contains(cause.Error(), "Grace began"), "%s: %v", way, cause)
		loss(t, h.unlock(), lock.LossExpired)
	}
}

func hasMinHold(t *testing.T, lab Lab, w way) {
	n := name(t)
	h := w.in(t, lab, n, lock.MinHold(2*brief))
	require.NoError(t, h.unlock(), w.name)
	busy(t, lab.Lock(1, n), w.name)
	busy(t, lab.Lock(0, n), w.name)
}

func refusesHold(t *testing.T, lab Lab, w way) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	h := w.enter(t, lab, approach{held, 0, n, []lock.Option{lock.NonReentrant()}})
	var entered *lock.ReentryError
	require.True(t, errors.As(h.err, &entered), "%s: %v", w.name, h.err)
	refused(t, held, h.held, h.unlock)
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// isRefused: a busy lock is told by the same word, whichever process has it.
func isRefused(t *testing.T, lab Lab, w way) {
	for holder := range 2 {
		n := name(t)
		_, unlock := take(t, within(t), lab.Lock(holder, n))
		err := Answered(func(d time.Duration) error {
			ctx := within(t)
			h := w.enter(t, lab, approach{ctx, 0, n, []lock.Option{lock.MaxWait(d)}})
			require.True(t, h.err != nil, w.name)
			refused(t, ctx, h.held, h.unlock)
			return h.err
		})
		only(t, err, lock.ErrBusy)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, unlock())
		soonFree(t, lab.Lock(1-holder, n))
	}
}

func isOverWithClient(t *testing.T, lab Lab, w way) {
	require.NoError(t, lab.Close(0))
	ctx := within(t)
	h := w.enter(t, lab, approach{ctx, 0, name(t), nil})
	only(t, h.err, lock.ErrClosed)
	refused(t, ctx, h.held, h.unlock)
}

// over is a context that has ended.
func over(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(within(t))
	cancel(errReason)
	return ctx
}

func answersOver(t *testing.T, lab Lab, w way) {
	n, ctx := name(t), over(t)
	h := w.enter(t, lab, approach{ctx, 0, n, nil})
	require.ErrorIs(t, h.err, errReason, w.name)
	only(t, h.err, nil)
	refused(t, ctx, h.held, h.unlock)
	free(t, lab.Lock(1, n))
}

// So does Import, and the hold can still be imported.
func importAnswersOver(t *testing.T, lab Lab) {
	n, ctx := name(t), over(t)
	l := lab.Lock(0, n).(mover)
	held, _ := take(t, within(t), lab.Lock(0, n))
	token, err := l.Export(held)
	require.NoError(t, err)
	same, nothing, err := l.Import(ctx, token)
	require.ErrorIs(t, err, errReason)
	only(t, err, nil)
	refused(t, ctx, same, nothing)
	_, unlock, err := l.Import(within(t), token)
	require.NoError(t, err)
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}

// wanter is a lock whose holder can learn that others wait.
type wanter interface {
	Wanted(ctx context.Context) (<-chan struct{}, error)
}

func learnsOfOthers(t *testing.T, lab Lab, w way) {
	n := name(t)
	h := w.in(t, lab, n, lock.Yields())
	wanted, err := lab.Lock(0, n).(wanter).Wanted(h.held)
	require.NoError(t, err, w.name)
	waits := make(chan turn, 1)
	go func() { waits <- turnOf(lab.Lock(1, n).Lock(within(t))) }()
	await(t, wanted, w.name+" learns that another waits")
	require.NoError(t, h.held.Err(), "nothing ends it")
	require.NoError(t, h.unlock())
	next := await(t, waits, "it has the lock")
	require.NoError(t, next.err)
	require.NoError(t, next.unlock())
}

// callsBack: who finds a lock that is kept and idle has it called back, and gets it. Without that it would be refused,
// or wait for the rest of a second.
func callsBack(t *testing.T, lab Lab, w way) {
	tries := 0
	kept(t, lab, func(n string) bool {
		h := w.enter(t, lab, approach{within(t), 1, n, []lock.Option{lock.MaxWait(keptFor / 2)}})
		if tries++; h.err != nil && tries < 3 {
			only(t, h.err, lock.ErrBusy)
			return false
		}
		require.NoError(t, h.err, w.name)
		require.NoError(t, h.unlock())
		return true
	})
}
