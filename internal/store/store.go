package store

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Store is a database that keeps locks. All methods are safe for concurrent use.
type Store interface {
	// Start is called once, before everything else. It sends nothing.
	Start(host Host)
	// Name is what errors and logs call the store, such as "Redis".
	Name() string

	// Node names the node that serves a key. Keys of one node fail together and share one clock.
	Node(key string) string
	// Serves reports that a node may still serve keys, and does not wait. What is known of a node that was replaced by
	// one of another name can be forgotten.
	Serves(node string) bool
	// Ready learns what must be known before something is taken, so that it can be renewed, and released such that
	// others hear of it. Each question takes the time limit of a command at most; usually nothing has to be asked.
	Ready(ctx context.Context, limit time.Duration) error
	// Within is a context for one request, with the time limit of one command.
	Within(ctx context.Context, limit time.Duration) context.Context
	// WithinAll is Within for a request that must end within all, whatever must happen before it is sent. What is made
	// of it by Within is bounded in the same way.
	WithinAll(ctx context.Context, limit, all time.Duration) context.Context
	// Direct reports that a request returns when its context ends, with a *[Left] if it was under way.
	Direct() bool
	// Replaceable reports that another node may take over without the last writes.
	Replaceable() bool
	// Slot is equal for keys that one request can serve, as far as is known.
	Slot(key string) int

	// Listen listens to a channel until the ticket is left. If it is for a lock, Host.Heard is called with key; with
	// "", nothing is called.
	Listen(channel, key string) Ticket
	// Heard is how many messages of a channel were received here; the zero Heard if nobody listens.
	Heard(channel string) Heard
	// Others is how many other clients a release reached, given the number of its receivers.
	Others(channel string, receivers int64) int

	// ListenWanted lets [Host] Wanted be called from soon on, when a request of another client is refused because of
	// an id of this one that has the [KeptMark], and [Host] Broken, if the store is a [Teller]. A call may be missing:
	// messages can be lost.
	ListenWanted()

	// Late is how long copies of requests for a key can still be carried out, as far as is known without asking. It is
	// not too short; 0: none can.
	Late(key string, late Late) time.Duration
	// Instant is when a time is over that begins now, for [Protocol] Retaining. It is not too early.
	Instant(key string, in time.Duration) int64

	// ReleaseEach sends releases, for which nobody waits, together.
	ReleaseEach(ctx context.Context, all []*Parting)
	// Renew renews holds that are on one node.
	Renew(ctx context.Context, all []Renewal)
	// AcquireAll takes all locks or none by one request. An error that matches [ErrApart] says that they must be
	// taken one by one; with [FaultAmbiguous] some may have been taken.
	AcquireAll(ctx context.Context, members []Member, id string, when Timing) (AcquireAllReply, Receipt, error)
	// ReleaseAll releases by one request the holds that one request took. If the error matches [ErrApart], a
	// [FaultDefinite] says that none was released.
	ReleaseAll(ctx context.Context, all []*Parting) error

	// End makes every caller leave that can; HangUp ends everything under way; Wait joins every goroutine, and comes
	// last.
	End()
	HangUp()
	Wait()
}

// A Teller is a store that carries a message from a client which has broken a hold to the client which had it. A store
// that sees by itself that a hold is gone, and says so by [Host] Gone, is none. Nor is a store without messages: the
// holder then learns of a break with its next renewal.
type Teller interface {
	// TellBroken has [Host] Broken called for the client of an id, if that listens. A message may be lost.
	TellBroken(ctx context.Context, key, id string)
}

// ClientOf is the id of the client whose hold has an id.
func ClientOf(id string) string { return id[:max(strings.LastIndexByte(id, ':'), 0)] }

// KeptMark stands in the id of a grant that may be idle, after the client's id and a colon. It is no digit of the
// number that follows, so no other id has it there.
const KeptMark = "K"

// MayBeIdle reports that an id has the mark.
func MayBeIdle(id string) bool {
	return strings.HasPrefix(id[strings.LastIndexByte(id, ':')+1:], KeptMark)
}

// Host is what a store needs of the engine that uses it.
type Host struct {
	Clock     *watchdog.Clock
	Wheel     *watchdog.Wheel
	Limit     time.Duration                  // of one command
	Warn      func(text string, args ...any) // logs, and does not wait
	Heard     func(key string)               // a message arrived on the channel of a key
	Replaced  func()                         // a node was replaced by one that may lack the last writes
	Client    string                         // the client's id, with which its holds' begin
	Wanted    func(key, id string)           // another client waits for what has an id; must not wait
	Broken    func(key, id string)           // another client says that it broke what has an id; must not wait
	Missed    func()                         // Broken may have been missed until now; must not wait
	Deaf      func(right string)             // Wanted is not called for lack of a right, until Missed; must not wait
	OnCommand func(Command)                  // a script was answered, or was not; does not wait; nil: nobody is told

	// Gone says that the store has seen that the hold with an id is gone. When it returns, the hold's contexts have
	// ended, with why as the cause, if that is not nil. It is called without a mutex that a context's end may need.
	Gone func(key, id string, why error)
}

// Parting is one release among several.
type Parting struct {
	Proto Protocol
	ID    string
	Late  Late // until when a request that takes it may be carried out

	Reply   ReleaseReply
	Again   time.Duration // how soon it may be worth releasing it again; 0: nothing can take it any more
	Unasked bool          // nothing was sent: the store's client knows by itself that nothing is left of the id
	Err     error
}

// Renewal is the renewal of one hold. Err is nil afterwards if it was renewed, and matches [watchdog.ErrGone] if the
// hold does not exist. TTL is how long the hold should stand, counted from the call; a store may lower it to how long
// it does.
type Renewal struct {
	Proto Protocol
	ID    string
	TTL   time.Duration
	Err   error
}

// Member is one of the locks that are taken together.
type Member struct {
	Proto Protocol
	Lease time.Duration
}

// Ticket is one listener of a channel.
type Ticket interface {
	// C is ready when a message arrived, or may have been missed, since the last receive from it.
	C() <-chan struct{}
	// Ready is closed when the subscription is confirmed: every release from then on is heard. If C is woken for that
	// too, it is before.
	Ready() <-chan struct{}
	// Heard is how many messages were received.
	Heard() Heard
	// Leave ends the ticket.
	Leave()
}

// Heard is how many messages of a channel were received under one subscription. The zero Heard is that of a channel
// without a subscription.
type Heard struct {
	Subscription uint64 // which one; none has the number 0
	Messages     uint64
}

// Command is one script that was sent to a server, and what became of it.
type Command struct {
	Script string        // its name
	Calls  int           // that were sent together, itself included
	Took   time.Duration // from sending to the answer, or until there could be none
	Err    error         // the server's, or that of the connection
}
