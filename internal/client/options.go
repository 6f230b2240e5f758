package client

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	defaultLease          = 30 * time.Second
	defaultMaxPoll        = time.Second
	defaultReleaseTimeout = 5 * time.Second
	defaultMaxKept        = 1024
)

// Options are those of the clients of all stores. They are documented with rlock.ClientOptions.
type Options struct {
	Lease          time.Duration
	MaxPoll        time.Duration
	MaxWait        time.Duration
	ReleaseTimeout time.Duration
	MinReplicas    int
	Fsync          bool
	MaxKept        int
	Prefix         string
	Observer       *lock.Observer
	Logger         *slog.Logger
}

// Checked returns a checked copy with the defaults filled in.
func (o Options) Checked() (Options, error) {
	err := firstError(
		FillTime("ClientOptions.Lease", &o.Lease, defaultLease, handle.MinLease),
		FillTime("ClientOptions.MaxPoll", &o.MaxPoll, defaultMaxPoll, time.Millisecond),
		FillTime("ClientOptions.ReleaseTimeout", &o.ReleaseTimeout, defaultReleaseTimeout,
			time.Millisecond),
	)
	if o.MaxWait != 0 && err == nil {
		err = FillTime("ClientOptions.MaxWait", &o.MaxWait, 0, time.Millisecond)
	}
	if len(o.Prefix) >= maxName && err == nil {
		err = &lock.ArgumentError{Name: "ClientOptions.Prefix", Value: fmt.Sprintf("%d", len(o.Prefix)),
			Problem: fmt.Sprintf("must be at most %d bytes long", maxName-1)}
	}
	if o.MinReplicas < 0 && err == nil {
		err = &lock.ArgumentError{
			Name: "ClientOptions.MinReplicas", Value: o.MinReplicas, Problem: "must not be negative",
		}
	}
	switch {
	case o.MaxKept == 0:
		o.MaxKept = defaultMaxKept
	case o.MaxKept < 0 && err == nil:
		err = &lock.ArgumentError{Name: "ClientOptions.MaxKept", Value: o.MaxKept, Problem: "must not be negative"}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, err
}

// CheckTimes checks options of a handle against one another and the client's lease.
func CheckTimes(o *handle.Options, req *engine.Request, lease time.Duration) error {
	switch {
	case o.Renewed > 0 && o.Lease > 0:
		return &lock.ArgumentError{Name: "Lease", Value: o.Renewed, Problem: "must not be given with FixedLease"}
	case o.Renewed > 0 && o.Renewed < lease/3:
		return &lock.ArgumentError{Name: "Lease", Value: o.Renewed,
			Problem: fmt.Sprintf("must be at least a third of the client's Lease, which is %v", lease)}
	case !req.Renewed && req.MinHold > req.Lease:
		return &lock.ArgumentError{Name: "MinHold", Value: req.MinHold,
			Problem: fmt.Sprintf("must not be longer than FixedLease, which is %v", req.Lease)}
	}
	if problem := handle.CheckGrace(req); problem != "" {
		return &lock.ArgumentError{Name: "Grace", Value: req.Grace, Problem: problem}
	}
	return checkKeep(o, req)
}

// checkKeep checks Keep against the other options of a handle.
func checkKeep(o *handle.Options, req *engine.Request) error {
	problem := ""
	switch {
	case req.Keep == 0:
		return nil
	case !req.Renewed:
		problem = "must not be given with FixedLease: a lock is kept as long as it is renewed"
	case o.MinHold > 0:
		problem = "must not be given with MinHold, by which each unlock releases the lock"
	case o.MaxHold > 0:
		problem = "must not be given with MaxHold, by which each unlock releases the lock"
	case req.Keep > engine.KeepMost:
		problem = fmt.Sprintf("must be at most %v, after which a kept lock is released in any case", engine.KeepMost)
	case req.Keep > req.Lease:
		problem = fmt.Sprintf("must not be longer than the lease, which is %v", req.Lease)
	default:
		return nil
	}
	return &lock.ArgumentError{Name: "Keep", Value: req.Keep, Problem: problem}
}

// NoKeep is the error of a lock that has neither Keep nor Yields; nil if a request has neither.
func NoKeep(req *engine.Request) error {
	const problem = "must not be given: only the reentrant lock of package rlock has it"
	switch {
	case req.Keep > 0:
		return &lock.ArgumentError{Name: "Keep", Value: req.Keep, Problem: problem}
	case req.Yields:
		return &lock.ArgumentError{Name: "Yields", Value: true, Problem: problem}
	}
	return nil
}

// NoMinHold is the error of a kind that has none.
func NoMinHold(d time.Duration) error {
	return &lock.ArgumentError{
		Name: "MinHold", Value: d, Problem: "must not be given: only the reentrant lock has it",
	}
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

// FillTime sets an option to its default if it is zero, and otherwise checks and rounds it.
func FillTime(name string, d *time.Duration, byDefault, least time.Duration) error {
	if *d == 0 {
		*d = byDefault
	}
	given := *d
	if problem := handle.RoundTime(d, least); problem != "" {
		return &lock.ArgumentError{Name: name, Value: given, Problem: problem}
	}
	return nil
}
