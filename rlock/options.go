package rlock

import (
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

const (
	defaultLease          = 30 * time.Second
	defaultMaxPoll        = time.Second
	defaultReleaseTimeout = 5 * time.Second
	defaultFenceTTL       = 7 * 24 * time.Hour

	minLease = 100 * time.Millisecond
	maxTime  = 366 * 24 * time.Hour
	minFence = time.Second

	maxName = 1024 // bytes
)

// ClientOptions adjust a Client. The zero value of every field means its default.
type ClientOptions struct {
	// Lease is how long Redis keeps a hold without a renewal, and so how long others wait after a
	// holder died. Every third of it the hold is renewed. Zero means 30 s; 100 ms is the least.
	Lease time.Duration

	// MaxPoll is how long a waiter relies on Redis's messages before it looks for itself: with every
	// message lost it still gets in this long after a release. Zero means 1 s.
	MaxPoll time.Duration

	// ReleaseTimeout bounds unlock, and Close, when Redis does not answer. Zero means 5 s.
	ReleaseTimeout time.Duration

	// MinReplicas is how many replicas must confirm an acquisition, and every renewal, by WAIT. If
	// they do not, the lock is taken back and the error, an ErrUnavailable, says so. It makes the loss
	// of a lock in a failover less likely, not impossible. A turn that passes from one caller of this
	// client to the next, and a nested Lock that needs no longer lease, ask nothing of Redis, and so of
	// no replica: they stand and fall with what was confirmed. Zero sends no WAIT. The server's own setting
	// min-replicas-to-write counts for locks from Redis 7 on: Redis 6.2 does not heed it inside scripts.
	MinReplicas int

	// KeyName makes a Redis key of a lock's name. Nil means the name itself. Every process that is to
	// contend, Redisson's included, has to use the same.
	KeyName func(name string) string

	// FenceTTL is how long the key of a fencing token survives disuse at least; time then has passed the
	// tokens by, so that later ones are greater all the same. It is a quarter of FenceTTL more at most:
	// the expiry is written once a quarter, and not with every token, since that would cost an
	// acquisition one more call in Redis. Zero means a week, which Redis so shows as 7 to 8.75 days. A
	// negative value means for ever, which names need that Java locks as RFencedLock: Java only increments,
	// and would start again at 1.
	FenceTTL time.Duration

	// Observer is told what happens. Nil costs nothing.
	Observer *Observer

	// Logger gets what an operator should know of: losses, failing renewals, waiters that wait for
	// their own client. Nil means slog.Default().
	Logger *slog.Logger
}

// Observer is a set of functions that are told what happens, for metrics and traces. Nil functions are
// skipped. Waiting, Acquired and Released are called in the goroutine that locks or unlocks, and hold
// it up while they run. Renewed has a goroutine of its own that calls it for one event after another, and
// so has Lost: one that blocks delays the next of its kind, never a renewal, a loss or the log. Losses are
// never dropped; renewals are when some thousands wait, and the log says how many. A panic is logged and
// goes no further. None of them may call Close, which waits for them.
type Observer struct {
	// Waiting: the lock is busy and the call waits.
	Waiting func(name string)
	// Acquired: it is held, after so long. Re-entries are not told.
	Acquired func(name string, waited time.Duration)
	// Renewed: a renewal was confirmed, or failed. A failure is no loss yet.
	Renewed func(name string, err error)
	// Lost: the hold is over, and why. No loss is left out: while Lost blocks, one error waits in memory for
	// each hold that was lost.
	Lost func(err *LostError)
	// Released: the last level was unlocked, after so long, or the hold exported. An error says that
	// it was lost or that Redis could not be told.
	Released func(name string, held time.Duration, err error)
}

func (o *Observer) events() engine.Events {
	if o == nil {
		return engine.Events{}
	}
	events := engine.Events{
		Waiting: o.Waiting, Acquired: o.Acquired, Renewed: o.Renewed, Released: o.Released,
	}
	if lost := o.Lost; lost != nil {
		events.Lost = func(err error) { lost(err.(*LostError)) }
	}
	return events
}

// withDefaults returns a checked copy.
func (o *ClientOptions) withDefaults() (ClientOptions, error) {
	var c ClientOptions
	if o != nil {
		c = *o
	}
	err := firstError(
		fillTime("ClientOptions.Lease", &c.Lease, defaultLease, minLease),
		fillTime("ClientOptions.MaxPoll", &c.MaxPoll, defaultMaxPoll, time.Millisecond),
		fillTime("ClientOptions.ReleaseTimeout", &c.ReleaseTimeout, defaultReleaseTimeout,
			time.Millisecond),
	)
	if c.FenceTTL >= 0 && err == nil {
		err = fillTime("ClientOptions.FenceTTL", &c.FenceTTL, defaultFenceTTL, minFence)
	}
	if c.MinReplicas < 0 && err == nil {
		err = &ArgumentError{"ClientOptions.MinReplicas", c.MinReplicas, "must not be negative"}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, err
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
	return checkTime(name, d, least)
}

// checkTime checks a time and rounds it up to the whole milliseconds that Redis is told.
func checkTime(name string, d *time.Duration, least time.Duration) error {
	if *d < least {
		return &ArgumentError{name, *d, "must be at least " + least.String()}
	}
	if *d > maxTime {
		return &ArgumentError{name, *d, "must be at most a year"}
	}
	if rest := *d % time.Millisecond; rest != 0 {
		*d += time.Millisecond - rest
	}
	return nil
}

// Option adjusts one handle.
type Option func(*options)

type options struct {
	lease   time.Duration // 0: the client's, renewed
	maxWait time.Duration
	maxHold time.Duration
	err     error // the first bad value; told by the first call on the handle
}

func (o *options) set(name string, to *time.Duration, d, least time.Duration) {
	err := checkTime(name, &d, least)
	*to = d
	if o.err == nil {
		o.err = err
	}
}

// FixedLease turns the watchdog off: the hold is not renewed and is over after d, for its owner a
// little earlier (see Hold.ValidUntil). d is at least 100 ms.
func FixedLease(d time.Duration) Option {
	return func(o *options) { o.set("FixedLease", &o.lease, d, minLease) }
}

// MaxWait limits how long Lock waits, and nothing else: unlike a deadline of its context it does not
// cut the work short. Lock then returns ErrBusy, or ErrUnavailable if Redis did not answer. d is
// positive; TryLock is for a single attempt.
func MaxWait(d time.Duration) Option {
	return func(o *options) { o.set("MaxWait", &o.maxWait, d, time.Millisecond) }
}

// MaxHold ends a hold that was not unlocked after d, though the watchdog could go on: its contexts end
// with LossMaxHold, and then it is released. It bounds what a stuck holder costs the others, and so the
// hold as a whole, by whatever handles it is entered again. With several limits the earliest counts; one
// that came with a nested Lock counts until that level is unlocked.
func MaxHold(d time.Duration) Option {
	return func(o *options) { o.set("MaxHold", &o.maxHold, d, time.Millisecond) }
}

// over is the request with what the options change.
func (o options) over(req engine.Request) engine.Request {
	if o.lease > 0 {
		req.Lease, req.Kept = o.lease, false
	}
	if o.maxWait > 0 {
		req.MaxWait = o.maxWait
	}
	if o.maxHold > 0 {
		req.MaxHold = o.maxHold
	}
	return req
}

func collect(opts []Option) options {
	var o options
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}
