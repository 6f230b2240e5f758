package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/lock"
)

// wary is the lease of a case in which the path to the store fails: a request has long enough on a busy machine.
const wary = 6 * time.Second

// faults are the cases in which the path to the store fails.
var faults = []contract{
	{"AStoreThatDoesNotAnswerIsUnavailable", Faults, unavailableWhile((*netfault.Path).Silence)},
	{"AStoreThatCannotBeReachedIsUnavailable", Faults, unavailableWhile(unreachable)},
	{"AnObserverIsToldOfWhatIsNotAnswered", Faults | Listeners, tellsWhile((*netfault.Path).Silence)},
	{"AnObserverIsToldOfWhatCannotBeSent", Faults | Listeners, tellsWhile(unreachable)},
}

// unreachable refuses new connections, and cuts those that there are.
func unreachable(path *netfault.Path, on bool) {
	path.Refuse(on)
	if on {
		path.Cut()
	}
}

// The word is the same before the first contact and after it, and nothing is left behind.
func unavailableWhile(away func(*netfault.Path, bool)) func(t *testing.T, lab Lab) {
	return func(t *testing.T, lab Lab) {
		n, path := name(t), lab.Path(0)
		l := lab.Lock(0, n)
		for _, contact := range []string{"before the first contact", "after it"} {
			away(path, true)
			t.Log(contact)
			ctx := within(t)
			same, nothing, err := l.TryLock(ctx)
			only(t, err, lock.ErrUnavailable)
			require.NoError(t, ctx.Err())
			refused(t, ctx, same, nothing)
			_, _, err = lab.Lock(0, n, lock.MaxWait(lab.Lease/20)).Lock(within(t))
			only(t, err, lock.ErrUnavailable)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			short, cancel := context.WithTimeout(within(t), lab.Lease/20)
			_, _, err = l.Lock(short)
			cancel()
			only(t, err, lock.ErrUnavailable)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			away(path, false)
			soonFree(t, lab.Lock(1, n))
			soonFree(t, l)
		}
	}
}

// A command that fails is told, whether a call or a renewal needs it: an alert counts it (defect G34). What a client
// asks about its store before the first call is no command.
func tellsWhile(away func(*netfault.Path, bool)) func(t *testing.T, lab Lab) {
	return func(t *testing.T, lab Lab) {
		n, path := name(t), lab.Path(0)
		soonFree(t, lab.Lock(0, n+":call"))
		held, _ := take(t, within(t), lab.Lock(0, n))
		failed := make(chan struct{}, 1)
		lab.Listener(0).Hear(func(e Event) {
			if e.Name == "Command" && e.Err != nil {
				select {
				case failed <- struct{}{}:
				default:
				}
			}
		})
		defer lab.Listener(0).Hear(nil)
		told := func(what string) {
			t.Helper()
			select {
			case <-failed:
			case <-within(t).Done():
				t.Errorf("nobody is told of %s", what)
			}
		}
		away(path, true)
		<-held.Done()
		told("a renewal")
		_, _, err := lab.Lock(0, n+":call").TryLock(within(t))
		only(t, err, lock.ErrUnavailable)
		told("a call")
		away(path, false)
	}
}
