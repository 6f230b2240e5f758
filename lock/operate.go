package lock

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Info is what is known of a lock, whoever holds it.
//
// One look walks a thousand holders and a thousand waiters at most, since Redis does nothing else meanwhile:
// Truncated says that there are more than are listed.
type Info struct {
	Holders []Holder
	// Held counts the holders, those that are not listed too. Of these some may be over: a reader that died
	// is counted until a writer comes.
	Held int
	// Waiters counts the calls that wait in this process, and every other process that waits for Redis as
	// one. A process counts for about a second longer than it waits, and not while those who wait in it
	// stand behind a holder of its own.
	Waiters int
	// Queue is who waits and since when, as far as it is known: of a fair lock everybody, of other locks
	// the calls of this process.
	Queue []Waiter
	// Truncated says that Holders or Queue is not all: of holders it is a sample then, of a fair lock's
	// queue the beginning.
	Truncated bool
}

// Waiter is one call that waits.
type Waiter struct {
	ID    string // what its hold will be called, if Redis grants it and it is not passed on here
	Since time.Time
	Mine  bool // waits through this Client
}

// Holder is one hold as Redis shows it.
type Holder struct {
	ID    string        // of ours, or of a Redisson client's thread
	Count int           // levels; of ours a moment late, see Hold.Count
	TTL   time.Duration // until Redis gives it up unless it is renewed; negative: never, until Break ends it
	Fence int64         // newest fencing token of the name; 0 if none was ever minted. See Hold.Fence for a hold's own
	Mine  bool          // held through this Client
}

// Inspect asks Redis who holds the lock, in one round trip.
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
	for _, w := range seen.Queue {
		info.Queue = append(info.Queue, Waiter(w))
	}
	for _, h := range seen.Holders {
		info.Holders = append(info.Holders, Holder{
			ID: h.ID, Count: int(h.Count), TTL: h.TTL, Fence: h.Fence, Mine: h.Mine,
		})
	}
	return info, nil
}

// Break takes the lock from whoever holds it, in this process or another, and wakes the next: for
// operators. A holder of this Client learns at once, one elsewhere with its next renewal, and either
// can go on working until then; fencing tokens are what stops its writes. It takes two round trips, so
// that nobody who comes to hold meanwhile is harmed. It ends a lock without expiry too, which Lock refuses
// with ErrKeyConflict. If nobody holds the lock, the error is ErrNotHeld.
func (l *Lock) Break(ctx context.Context) error {
	parts, err := l.open(ctx)
	if err != nil {
		return err
	}
	return parts.Engine.Break(ctx, parts.Request.Proto)
}

// passport is the text that an exported hold travels as.
type passport struct {
	Key   string `json:"k,omitempty"`
	Bytes []byte `json:"b,omitempty"` // the key, where that is not UTF-8, as a string of JSON is
	ID    string `json:"i"`
	Fence int64  `json:"f"`
}

func newPassport(key string, p engine.Passage) passport {
	made := passport{ID: p.ID, Fence: p.Fence}
	if utf8.ValidString(key) {
		made.Key = key
	} else {
		made.Bytes = []byte(key)
	}
	return made
}

func (p passport) key() string {
	if len(p.Bytes) > 0 {
		return string(p.Bytes)
	}
	return p.Key
}

// Export takes the hold that ctx carries out of this process and returns a token for Import elsewhere.
// Its context ends (with ErrReleased), its unlock returns ErrNotHeld, and the lock stays held in Redis,
// by nobody, for the Client's lease (or what is left of a longer fixed one): so it is never in two
// processes. A hold with several levels cannot be
// exported. On error nothing was exported and the hold is over.
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
	text, err := json.Marshal(newPassport(parts.Request.Proto.Key(), p))
	return base64.RawURLEncoding.EncodeToString(text), err
}

// Import takes over a hold that Export let go, under this handle's options. It returns what Lock
// returns. Only the first Import of a token succeeds; for any further one, and when the lease ran out
// on the way, the error is ErrNotHeld. The fencing token stays the same.
func (l *Lock) Import(
	ctx context.Context, token string,
) (held context.Context, unlock func() error, err error) {
	parts, err := l.open(ctx)
	if err != nil {
		return ctx, notHeld, err
	}
	var p passport
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil || !strings.Contains(p.ID, ":") || p.key() == "" || p.Fence < 0:
		return ctx, notHeld, &ArgumentError{Name: "token", Problem: "must come from Export"}
	case p.key() != parts.Request.Proto.Key():
		return ctx, notHeld, &ArgumentError{Name: "token", Problem: fmt.Sprintf("is of another lock, %q", p.key())}
	}
	level, err := parts.Engine.Import(ctx, parts.Request, engine.Passage{ID: p.ID, Fence: p.Fence})
	return hand(ctx, level, err)
}
