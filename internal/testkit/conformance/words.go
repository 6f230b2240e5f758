package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

// together are the cases of what several callers of one client are told that give up at the same time. One of them has
// asked the store, and the others stand behind it: what it was told concerns all.
var together = []contract{
	{"CallersThatGiveUpTogetherAreToldThatItIsBusy", Exclusion, allAreToldBusy},
	{"TriesAtTheSameTimeAreToldThatItIsBusy", Tries | Exclusion, triesAreToldBusy},
}

// atOnce is how many callers give up together.
const atOnce = 50

// ending is how a call ends at an instant.
type ending struct {
	name    string
	options func(at time.Time) []lock.Option // nil: none
	context func(at time.Time) (context.Context, context.CancelFunc)
	also    error // that its error matches as well
}

var endings = []ending{
	{"a deadline", nil, func(at time.Time) (context.Context, context.CancelFunc) {
		return context.WithDeadline(context.Background(), at)
	}, context.DeadlineExceeded},
	{"a cancelled context", nil, func(at time.Time) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Until(at), cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}, context.Canceled},
	{"MaxWait", func(at time.Time) []lock.Option {
		return []lock.Option{lock.MaxWait(time.Until(at))}
	}, func(time.Time) (context.Context, context.CancelFunc) {
		return context.WithCancel(context.Background())
	}, nil},
}

// Client 0 holds. The callers are in its own process, and then in another.
func allAreToldBusy(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	for client := range 2 {
		for _, end := range endings {
			for d := time.Second; !giveUpTogether(t, lab, client, n, end, d); d *= 2 {
				if d > limit {
					t.Fatalf("%s: %d callers do not come to wait in %v", end.name, atOnce, d)
				}
			}
		}
	}
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// giveUpTogether has callers wait until one instant, after d, and checks what they are told. It reports false if not
// all of them were waiting by half of the time, or nothing was known by then: the machine is too busy for that.
//
// The first caller asks the store, and is there until the end. That it was answered is known when another one is told
// so whose own time ends earlier.
func giveUpTogether(t *testing.T, lab Lab, client int, n string, end ending, d time.Duration) bool {
	at, half := time.Now().Add(d), time.Now().Add(d/2)
	errs, late := make(chan error, atOnce), make(chan bool, atOnce)
	call := func() {
		var opts []lock.Option
		if end.options != nil {
			opts = end.options(at)
		}
		l := lab.Lock(client, n, opts...)
		go func() {
			ctx, cancel := end.context(at)
			defer cancel()
			late <- time.Now().After(half)
			_, _, err := l.Lock(ctx)
			errs <- err
		}()
	}
	call()
	err := Answered(func(d time.Duration) error {
		_, _, err := lab.Lock(client, n, lock.MaxWait(d/10)).Lock(within(t))
		return err
	})
	only(t, err, lock.ErrBusy)
	for range atOnce - 1 {
		call()
	}
	told, inTime := make([]error, 0, atOnce), true
	for range atOnce {
		inTime = !await(t, late, "a caller comes") && inTime
		told = append(told, await(t, errs, "a caller gives up"))
	}
	for i := 0; i < atOnce && inTime; i++ {
		only(t, told[i], lock.ErrBusy)
		if end.also != nil {
			require.ErrorIs(t, told[i], end.also)
		}
	}
	return inTime
}

func triesAreToldBusy(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	for client := range 2 {
		errs := make(chan error, atOnce)
		for range atOnce {
			l := lab.Lock(client, n)
			go func() {
				_, _, err := l.TryLock(within(t))
				errs <- err
			}()
		}
		for range atOnce {
			only(t, await(t, errs, "a try returns"), lock.ErrBusy)
		}
	}
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}
