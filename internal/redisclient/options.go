package redisclient

import (
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	defaultFenceTTL = 7 * 24 * time.Hour

	minFence = time.Second
)

// Options are rlock.ClientOptions, field by field, so that those convert to them. They are documented there.
type Options struct {
	Lease          time.Duration
	MaxPoll        time.Duration
	MaxWait        time.Duration
	ReleaseTimeout time.Duration
	MinReplicas    int
	Fsync          bool
	MaxKept        int
	Prefix         string
	FenceTTL       time.Duration
	Observer       *lock.Observer
	Logger         *slog.Logger
	Owner          string
}

// general are the options that the clients of all stores have.
func (o *Options) general() client.Options {
	return client.Options{
		Lease: o.Lease, MaxPoll: o.MaxPoll, MaxWait: o.MaxWait, ReleaseTimeout: o.ReleaseTimeout,
		MinReplicas: o.MinReplicas, Fsync: o.Fsync, MaxKept: o.MaxKept, Prefix: o.Prefix,
		Observer: o.Observer, Logger: o.Logger,
	}
}

// Checked returns a checked copy with the defaults filled in.
func (o Options) Checked() (Options, error) {
	g, err := o.general().Checked()
	o.Lease, o.MaxPoll, o.MaxWait, o.ReleaseTimeout = g.Lease, g.MaxPoll, g.MaxWait, g.ReleaseTimeout
	o.MaxKept, o.Logger = g.MaxKept, g.Logger
	if o.FenceTTL >= 0 && err == nil {
		err = client.FillTime("ClientOptions.FenceTTL", &o.FenceTTL, defaultFenceTTL, minFence)
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
