package redisclient

import (
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	defaultLease          = 30 * time.Second
	defaultMaxPoll        = time.Second
	defaultReleaseTimeout = 5 * time.Second
	defaultFenceTTL       = 7 * 24 * time.Hour

	minFence = time.Second
)

// Options are rlock.ClientOptions, field by field, so that those convert to them. They are documented there.
type Options struct {
	Lease          time.Duration
	MaxPoll        time.Duration
	ReleaseTimeout time.Duration
	MinReplicas    int
	KeyName        func(name string) string
	FenceTTL       time.Duration
	Observer       *lock.Observer
	Logger         *slog.Logger
}

// Checked returns a checked copy with the defaults filled in.
func (o Options) Checked() (Options, error) {
	err := firstError(
		fillTime("ClientOptions.Lease", &o.Lease, defaultLease, handle.MinLease),
		fillTime("ClientOptions.MaxPoll", &o.MaxPoll, defaultMaxPoll, time.Millisecond),
		fillTime("ClientOptions.ReleaseTimeout", &o.ReleaseTimeout, defaultReleaseTimeout,
			time.Millisecond),
	)
	if o.FenceTTL >= 0 && err == nil {
		err = fillTime("ClientOptions.FenceTTL", &o.FenceTTL, defaultFenceTTL, minFence)
	}
	if o.MinReplicas < 0 && err == nil {
		err = &lock.ArgumentError{
			Name: "ClientOptions.MinReplicas", Value: o.MinReplicas, Problem: "must not be negative",
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, err
}

// fenceTTL is how long an unused token is kept, in the scripts' form: in ms, negative for no expiry.
func (o *Options) fenceTTL() int64 {
	if o.FenceTTL > 0 {
		return o.FenceTTL.Milliseconds()
	}
	return -1
}

// requestLife covers the time during which an acquisition is sent again, plus the time during which an abandoned one
// is taken back.
func (o *Options) requestLife() int64 {
	return (2*o.Lease + o.ReleaseTimeout + 10*time.Second).Milliseconds()
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func fillTime(name string, d *time.Duration, byDefault, least time.Duration) error {
	if *d == 0 {
		*d = byDefault
	}
	given := *d
	if problem := handle.RoundTime(d, least); problem != "" {
		return &lock.ArgumentError{Name: name, Value: given, Problem: problem}
	}
	return nil
}
