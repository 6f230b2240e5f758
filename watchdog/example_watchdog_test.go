package watchdog_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

func ExampleWatchdog() {
	clock := watchdog.NewClock()
	wheel := watchdog.NewWheel(clock, time.Millisecond)
	defer wheel.Close()

	const lease = 90 * time.Millisecond
	renewals := 0
	renewed, lost := make(chan struct{}), make(chan error)
	dog := watchdog.New(watchdog.Config{
		Wheel:  wheel,
		Period: lease / 3,
		// One call for all leases that are due. This one knows a hold
		// for two renewals and has forgotten it at the third.
		Renew: func(_ context.Context, _ string, due []*watchdog.Lease, results []watchdog.Result) {
			renewals++
			for i := range due {
				results[i] = watchdog.Result{Lease: time.Minute}
				if renewals > 2 {
					results[i].Err = watchdog.ErrGone
				}
			}
		},
		Renewed: func(_ *watchdog.Lease, err error) {
			if err == nil {
				renewed <- struct{}{}
			}
		},
		Lost: func(l *watchdog.Lease, cause error) {
			go func() { lost <- fmt.Errorf("%v is lost: %w", l.Of, cause) }()
		},
	})
	defer dog.Close()

	start := clock.Now() // before the call that takes the hold
	hold := &watchdog.Lease{Of: "order:1001"}
	dog.Renew(hold, start, time.Minute)
	<-renewed
	<-renewed
	fmt.Println("renewed twice, valid:", hold.ValidUntil() > clock.Now())

	err := <-lost
	fmt.Println(err)
	fmt.Println("gone:", errors.Is(err, watchdog.ErrGone), "stopped:", dog.Stop(hold))
	// Output:
	// renewed twice, valid: true
	// order:1001 is lost: the lease is gone
	// gone: true stopped: false
}
