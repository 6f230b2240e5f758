package otel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-go/holdfast/lock"
)

// Statter is what Track needs of a client.
type Statter interface {
	Stats() lock.Stats
}

// Track adds what client.Stats tells to the metrics, until the returned function is called. The metrics have no
// attribute for the client, so track one client of a process, or one with each Telemetry.
func (t *Telemetry) Track(client Statter) (untrack func(), err error) {
	var errs [5]error
	validity, err := t.meter.Float64ObservableGauge("holdfast.lock.least_validity", metric.WithUnit("s"),
		metric.WithDescription("What is left of the hold whose validity ends first; absent without holds."))
	errs[0] = err
	due, err := t.meter.Int64ObservableGauge("holdfast.lock.renewals.due", metric.WithUnit("{hold}"),
		metric.WithDescription("Holds whose time to renew has come, and whose renewal is not confirmed."))
	errs[1] = err
	owed, err := t.meter.Int64ObservableGauge("holdfast.lock.releases.owed", metric.WithUnit("{release}"),
		metric.WithDescription("Releases that the store has not confirmed, and that go on in the background."))
	errs[2] = err
	dropped, err := t.meter.Int64ObservableCounter("holdfast.lock.events.dropped", metric.WithUnit("{event}"),
		metric.WithDescription("Events that were dropped because the observer or the logger was too slow."))
	errs[3] = err
	kept, err := t.meter.Int64ObservableGauge("holdfast.lock.kept", metric.WithUnit("{lock}"),
		metric.WithDescription("Locks that nobody holds and that stay with the client (option Keep)."))
	errs[4] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("holdfast: the client is not tracked: %w", err)
	}
	registration, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := client.Stats()
		if s.Holds > 0 {
			o.ObserveFloat64(validity, s.LeastValidity.Seconds())
		}
		o.ObserveInt64(kept, int64(s.Kept))
		o.ObserveInt64(due, int64(s.RenewalsDue))
		o.ObserveInt64(owed, int64(s.ReleasesOwed))
		o.ObserveInt64(dropped, s.Coalesced)
		return nil
	}, validity, kept, due, owed, dropped)
	if err != nil {
		return nil, fmt.Errorf("holdfast: the client is not tracked: %w", err)
	}
	return func() { _ = registration.Unregister() }, nil // it fails for no provider that keeps to the interface
}
