package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/lua"
)

// A Protocol is what a primitive adds to the engine: its scripts, its names, and what excludes what.
// It is bound to one name and has no state of its own; every method is safe for concurrent use.
//
// Methods that take a conn send one script and report what it answered. They do not repeat anything:
// repeating, and knowing what a repetition means, is the engine's part.
type Protocol interface {
	Name() string    // as the application wrote it; for errors, events and logs
	Key() string     // the Redis key that carries the lock: its slot and node serve every call
	Mode() string    // tells the sides of one name apart; "" where there is one
	Channel() string // where a release is published; "": nowhere, attempts are repeated at random times

	// Excludes reports that, while a local hold of the given mode lives, asking Redis is pointless.
	Excludes(held string) bool
	// Follows reports that a local waiter of the given mode that came earlier goes first.
	Follows(ahead string) bool
	// Inherits reports that Handoff can turn a hold of the given mode into one of this mode.
	Inherits(held string) bool

	Acquire(ctx context.Context, conn lua.Conn, ask Ask) (lua.AcquireReply, error)
	Handoff(ctx context.Context, conn lua.Conn, from string, ask Ask) (lua.HandoffReply, error)
	Adopt(ctx context.Context, conn lua.Conn, from string, ask Ask) (lua.AdoptReply, error)
	Reenter(ctx context.Context, conn lua.Conn, step Step) (lua.StepReply, error)
	Leave(ctx context.Context, conn lua.Conn, step Step) (lua.StepReply, error)
	Inspect(ctx context.Context, conn lua.Conn, sharded bool) (lua.InspectReply, error)

	// Release prepares the last release of a hold, which the engine may send among others.
	Release(id string, sharded, wantNow bool) *lua.Call[lua.ReleaseReply]
	// Renewer is the script that keeps holds of this kind; holds with equal renewers share a call.
	Renewer() Renewer
}

// A Nester is a protocol with several sides, of which one can be held inside another.
type Nester interface {
	// Under says what a request does whose context carries a live hold of another mode of the same
	// key: it passes the queue, with that hold's id in Ask.Under; it is refused; or neither, and it
	// waits like everybody.
	Under(mode string) (pass bool, err error)
}

// A Marker is a protocol whose attempt leaves something in Redis though another has the lock: a gate,
// a place in a queue. Release takes that away too, so the engine sends it for whoever leaves.
type Marker interface{ Marks() }

// A Crowder is a protocol of which any number may ask at a time, since nothing that one of them takes
// excludes the others: nobody waits behind a request that Redis did not refuse.
type Crowder interface{ Crowds() }

// A Passer is a protocol whose holds pass to other callers of the process without a request: what is in Redis
// says nothing about which of them has it.
type Passer interface{ Passes() }

// An Unscripted protocol is a Passer that has no Handoff: a hold is passed on without a request, or released.
type Unscripted interface {
	Passer
	Unscripted()
}

// A Queuer is a protocol whose waiters stand in a queue in Redis. Who arrives behind others of this
// process is registered once; who leads registers with every attempt.
type Queuer interface {
	Marker
	// Enqueue registers waiters that have no place, and gives back their place to those who had one. First
	// says that no other waiter of this process has a place: nobody has told yet that it lives.
	Enqueue(ctx context.Context, conn lua.Conn, asks []Ask, first bool) (lua.EnqueueReply, error)
}

// A Stayer is a protocol whose holds cannot move to another process.
type Stayer interface {
	// Stays is the error of who tries.
	Stays() error
}

// A Leaser is a protocol that does not take every lease. Whoever makes a Request of it asks first, wherever
// the lease comes from.
type Leaser interface {
	// CheckLease is the error of whoever asks for a lease that the protocol refuses.
	CheckLease(lease time.Duration) error
}

// Refused is an error that a Protocol returns instead of sending, or for an answer that says that it was
// asked for something impossible: the call ends with Err as it is.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// Settled is an error that a Protocol returns when it has seen to it that nothing of the call is left or
// will be, though not all of it was answered.
type Settled struct{ Err error }

func (s *Settled) Error() string { return s.Err.Error() }
func (s *Settled) Unwrap() error { return s.Err }

// A Renewer prepares one script call that renews many holds. Implementations are comparable.
type Renewer interface {
	Renew(keys, ids []string, ttls []int64) *lua.Call[[]lua.RenewStatus]
}

// Ask is one attempt to come to a hold.
type Ask struct {
	ID       string
	Lease    time.Duration
	NotAfter int64  // server time in µs after which nothing may be written any more
	Under    string // the hold of another side that the caller has; "": none
	Ticket   int64  // the place in Redis's queue that it was given; 0: none yet
	Once     bool   // nobody waits if it is answered "busy", so nothing needs to be left for that
	Waited   bool   // of a Crowder: the caller has been waiting for this already

	// For what Redis remembers by the request's id: until when, in server time in µs, it may be sent again
	// (0: not known), and which requests before it were answered.
	Until   int64
	Settled []lua.Settled
}

// Step is a change inside a hold: it now has Count levels, by its operation number Op, and the
// longest lease that one of them needs is TTL.
type Step struct {
	ID        string
	Count, Op int64
	TTL       time.Duration
}

// Request is what a caller wants to hold, and how.
type Request struct {
	Proto   Protocol
	Lease   time.Duration
	Kept    bool          // renewed by the watchdog until it is unlocked
	MaxWait time.Duration // 0: as long as ctx allows
	Waits   time.Duration // the whole wait, where MaxWait is what is left of it; for the error
	MaxHold time.Duration // 0: any time
	Busy    bool          // the last answer that the caller had was that another has it
	Anew    bool          // a hold of its own, whatever ctx carries
	Loose   bool          // what is taken is nobody's: there is no hold (see Take)
	Shared  bool          // with Loose: nothing is taken, and the answer is that of all who waited for it
}
