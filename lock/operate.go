package lock

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
)

// Info is what is known of a lock, and of its holders in every process.
//
// Inspect reads at most a thousand holders and a thousand waiters, because a Redis server serves no other request
// meanwhile. Truncated says that there are more than are listed.
type Info struct {
	Holders []Holder
	// Held is the number of holders, listed or not. Some may no longer be live: a reader that died is counted until a
	// writer asks for the lock.
	Held int
	// Waiters counts each call that waits in this process, and each other process that waits for the store as one.
	// Another process counts for about a second longer than it waits, and does not count while all its waiters are
	// queued behind a holder of its own.
	Waiters int
	// Queue lists the known waiters and since when they wait: all waiters of a fair lock; of other locks only the
	// calls of this process.
	Queue []Waiter
	// Truncated says that Holders or Queue is incomplete. Holders is then a sample; Queue is the beginning of a fair
	// lock's queue.
	Truncated bool
	// Transactions are those of PostgreSQL that keep the lock from everybody else, whoever holds it. Other stores have
	// none.
	Transactions []Transaction
}

// Waiter is one call that waits.
type Waiter struct {
	ID    string // the id of its hold, if the store grants it and it is not passed on here
	Since time.Time
	Mine  bool // waits through this Client
}

// Holder is one hold as the store shows it.
type Holder struct {
	ID    string        // of ours, or in Redis of a Redisson client's thread
	Count int           // levels; for this module's holds slightly late, and 1 of rwlock and redlock
	TTL   time.Duration // until the store drops it if it is not renewed; negative: no expiry, only Break ends it
	Fence int64         // newest fencing token of the name; 0 if none was ever minted. See Hold.Fence for a hold's own
	Mine  bool          // held, or kept, through this Client
	Kept  bool          // its client keeps it when it is unlocked, so it may be held by nobody: see Keep
	Owner string        // what the holder's client says of itself, if it does and this one asks
}

// Transaction is one of PostgreSQL that has locked the row of a lock, by pglock.Tx or by hand. Nobody else gets the
// lock before it ends, even if the hold is over, and Break does not end it.
type Transaction struct {
	PID      int64         // of its session; 0: it is prepared
	Prepared string        // the name by which it was prepared
	Open     time.Duration // how long it has been open, in whole seconds; 0 also if this user may not see that
	State    string        // what its session does, as pg_stat_activity says; "" if this user may not see that
}

// String names the transaction, and the statement that ends it.
func (t Transaction) String() string {
	what := fmt.Sprintf("session %d", t.PID)
	end := fmt.Sprintf("SELECT pg_terminate_backend(%d)", t.PID)
	if t.PID == 0 {
		what, end = "a prepared transaction", "ROLLBACK PREPARED '"+strings.ReplaceAll(t.Prepared, "'", "''")+"'"
	} else if t.State != "" {
		what += " (" + t.State + ")"
	}
	if t.Open > 0 {
		what += fmt.Sprintf(" for %v", t.Open)
	}
	return what + ": " + end + " ends it"
}

// Inspect asks the store who holds the lock, in one round trip.
func (l *Lock) Inspect(ctx context.Context) (Info, error) {
	parts, err := l.open(ctx)
	if err != nil {
		return Info{}, err
	}
	seen, err := parts.Engine.Inspect(ctx, parts.Request.Proto)
	if err != nil {
		return Info{}, err
	}
	info := Info{Held: seen.Held, Waiters: seen.Waiters, Truncated: seen.Truncated}
	for _, t := range seen.Transactions {
		info.Transactions = append(info.Transactions, Transaction(t))
	}
	for _, w := range seen.Queue {
		info.Queue = append(info.Queue, Waiter(w))
	}
	for _, h := range seen.Holders {
		info.Holders = append(info.Holders, Holder{
			ID: h.ID, Count: int(h.Count), TTL: h.TTL, Fence: h.Fence, Mine: h.Mine, Kept: h.Kept, Owner: h.Owner,
		})
	}
	return info, nil
}

// Break takes the lock from its holder, in this process or another, and wakes the next waiter. It is meant for
// operators. A holder of this Client learns of it at once. On Redis, one elsewhere is told by a message, which is heard
// by clients that have had a hold for about a second; a client that begins to listen asks for what it missed. On etcd
// it watches its key from then on. Where that is lost, and on other stores, it learns with its next renewal, within a
// third of its lease. Either can go on working until then; only fencing tokens stop its writes. Break takes two round
// trips, so that it cannot hit a hold granted in the meantime, and on PostgreSQL a third. It also ends a lock without
// expiry, which Lock refuses with ErrKeyConflict. If nobody holds the lock, the error is ErrNotHeld. If transactions of
// PostgreSQL keep it from others all the same, whether there was a hold to break or not, the error is a
// *TransactionError, which says how to end them.
func (l *Lock) Break(ctx context.Context) error {
	parts, err := l.open(ctx)
	if err != nil {
		return err
	}
	return parts.Engine.Break(ctx, parts.Request.Proto)
}

// BreakOne is Break for one hold: the one with an id that Inspect told. If there is no such hold, the error is
// ErrNotHeld and nothing changes.
func (l *Lock) BreakOne(ctx context.Context, id string) error {
	parts, err := l.open(ctx)
	if err != nil {
		return err
	}
	if !strings.Contains(id, ":") {
		return &ArgumentError{Name: "id", Value: id, Problem: "must be the id of a holder that Inspect told"}
	}
	return parts.Engine.BreakOne(ctx, parts.Request.Proto, id)
}

// Export takes the hold that ctx carries out of this process and returns a token for Import elsewhere. The hold's
// context ends (with ErrReleased), and its unlock returns ErrNotHeld. The lock stays held in the store, by no process,
// for the Client's lease (or the rest of a longer fixed one), so it is never held by two processes. A hold with
// several levels cannot be exported. On error nothing was exported and the hold is over.
//
// Every process that has the token can import the hold, and no other one can: the token cannot be made of what logs,
// Inspect or the store show.
func (l *Lock) Export(ctx context.Context) (token string, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return "", err
	}
	p, err := parts.Engine.Export(ctx, parts.Request.Proto)
	if errors.Is(err, engine.ErrNested) {
		return "", &ArgumentError{
			Name: "ctx", Problem: "must carry the only level of its hold: " + err.Error(),
		}
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// Import takes over an exported hold, under this handle's options. It returns what Lock returns. Only the first
// Import of a token succeeds. A later one, or one after the lease ended, returns ErrNotHeld, as does a token that was
// changed or made up. The fencing token stays the same.
func (l *Lock) Import(
	ctx context.Context, token string,
) (held context.Context, unlock func() error, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return ctx, notHeld, err
	}
	var p engine.Passage
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil || p.Client == "" || p.Secret == "" || len(p.Key) == 0 || p.Fence < 0 ||
		p.Retain < 0 || p.Retain > 1<<53 || p.Most < 0 || p.Retain > 0 && p.Most == 0:
		return ctx, notHeld, &ArgumentError{Name: "token", Problem: "must come from Export"}
	case string(p.Key) != parts.Request.Proto.Key():
		return ctx, notHeld, &ArgumentError{
			Name: "token", Problem: fmt.Sprintf("must be a token of this lock, not of %q", p.Key),
		}
	}
	level, err := parts.Engine.Import(ctx, handle.Placed(&parts.Request), p)
	return hand(ctx, level, err)
}
