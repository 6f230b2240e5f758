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
	Channel() string // where a release is published

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

// A Renewer prepares one script call that renews many holds. Implementations are comparable.
type Renewer interface {
	Renew(keys, ids []string, ttls []int64) *lua.Call[[]lua.RenewStatus]
}

// Ask is one attempt to come to a hold.
type Ask struct {
	ID       string
	Lease    time.Duration
	NotAfter int64 // server time in µs after which nothing may be written any more
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
	MaxHold time.Duration // 0: any time
}
