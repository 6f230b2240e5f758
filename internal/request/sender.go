package request

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

const (
	maxLimit = 3 * time.Second // of one command, however long the lease

	// Batch is how many holds go into one pipeline.
	Batch = 256
)

// Config is what a Sender is made of. All fields but Server are set.
type Config struct {
	Store store.Store
	Clock *watchdog.Clock
	Wheel *watchdog.Wheel
	Lease time.Duration // the client's

	ReleaseTimeout time.Duration // of the client: how long a caller of unlock waits for a node, and Close

	Warn, Info func(text string, args ...any)
	Holds      func(node string) int // how many holds of the client a node has
	Server     string                // what operators call the store's only node; "" if it has several
}

// Sender sends the requests of one client, and cleans up after those of which the outcome is unknown. All its methods
// are safe for concurrent use.
type Sender struct {
	cfg    Config
	clocks serverclock.Clocks

	ledger   ledger
	answered answered
	outages  outages

	// All that has to end when the client closes. See calls.go.
	closing chan struct{}  // closed when Close begins
	calls   sync.WaitGroup // calls of the API, and goroutines that wait for a reply or clean up
	mu      sync.Mutex     // guards closed, and calls against Close
	closed  bool
}

// New returns a Sender. It sends nothing.
func New(cfg Config) *Sender {
	s := &Sender{cfg: cfg, closing: make(chan struct{})}
	s.ledger.sender = s
	s.outages.cfg = &s.cfg
	return s
}

// CommandLimit is how long one command may take under a lease: a fraction of it, so that several attempts fit into the
// time that a renewal has.
func CommandLimit(lease time.Duration) time.Duration { return min(lease/6, maxLimit) }

// Limit is how long one command may take for a hold with a lease. A short lease shortens it, so that no hold is
// granted that is as good as over. A long one does not lengthen it beyond the client's own: the limit is also how
// late a request that was given up can still be carried out.
func (s *Sender) Limit(lease time.Duration) time.Duration {
	return min(CommandLimit(lease), CommandLimit(s.cfg.Lease))
}

// Within is a context for one request, with the time limit of one command.
func (s *Sender) Within(ctx context.Context, limit time.Duration) context.Context {
	return s.cfg.Store.Within(ctx, limit)
}

// Sent is when a request was sent, and until when a copy of it can be carried out.
type Sent struct {
	Start    time.Duration // on the client's clock
	NotAfter int64         // on the server's, in µs
}

// Answer is what Send needs to know of an answer.
type Answer struct {
	Late bool  // the request came too late, and did nothing
	Now  int64 // the server's time, in µs; 0: it is not told
}

// Send sends one request that must not be carried out late. It is told the server's time until which the store may
// carry it out. A process that stops between the two sends the request when its time is over, and the store refuses it.
//
// A not-after that is 0 says that nothing is known of the server's clock. The store refuses such a request as late, and
// its answer tells the time. So the first request of a client to a node costs one round trip more, and no request ever
// relies on the client's wall clock. The same happens if the server's clock was set ahead. A request that was late did
// nothing, and is sent again, with a not-after by the time that was told; three that are late in a row mean a clock
// that runs away. What is returned is of the last sending.
//
// For example, with an estimate that is two seconds behind the server's clock and a time limit of one second, a
// not-after lies a second in the past when the request arrives. "Late" costs a round trip and nothing else. With an
// estimate that is ahead, a copy may be carried out later than it need be, which only delays the clean-up: no lease
// and no validity depends on the estimate.
func (s *Sender) Send(
	ctx context.Context, x crash.Exchange, of store.Rules, limit time.Duration,
	send func(ctx context.Context, notAfter int64) (Answer, error),
) (sent Sent, err error) {
	for range 3 {
		var answer Answer
		sent, answer, err = s.sendOnce(ctx, x, of, limit, send)
		switch {
		case err != nil || !answer.Late:
			return sent, err
		case ctx.Err() != nil:
			return sent, store.ErrUnsent // nobody waits for it any more
		}
	}
	return sent, errClock
}

var errClock = &store.Failure{
	Fault: store.FaultTransient, Err: errors.New("the clock of the server is changing too fast"),
}

func (s *Sender) sendOnce(
	ctx context.Context, x crash.Exchange, of store.Rules, limit time.Duration,
	send func(ctx context.Context, notAfter int64) (Answer, error),
) (sent Sent, answer Answer, err error) {
	node := s.cfg.Store.Node(of.Key())
	sent.Start = s.cfg.Clock.Now()
	sent.NotAfter = s.clocks.NotAfter(node, sent.Start, limit)
	if sent.NotAfter == 0 {
		defer s.expect(Event{Of: of, Node: node, Sent: sent.Start})()
	}
	err = Exchange(x, func() (err error) {
		answer, err = send(s.Within(ctx, limit), sent.NotAfter)
		return err
	})
	s.clocks.Observe(node, sent.Start, s.cfg.Clock.Now(), answer.Now)
	if err == nil || ctx.Err() == nil { // a caller that leaves says nothing about the node
		s.Noted(Event{Of: of, Node: node, Sent: sent.Start, Err: err})
	}
	return sent, answer, err
}

// Local is the client's time at which the server that keeps key has passed a time of its own.
func (s *Sender) Local(key string, server int64) time.Duration {
	return s.clocks.Local(s.cfg.Store.Node(key), server, s.cfg.Clock.Now())
}

// Latest is the latest time that the server that keeps key may show now, in µs.
func (s *Sender) Latest(key string) int64 {
	return s.clocks.Latest(s.cfg.Store.Node(key), s.cfg.Clock.Now())
}

// Past reports that nothing is carried out any more whose not-after is a time of the server that keeps key.
func (s *Sender) Past(key string, notAfter int64) bool {
	return s.clocks.Past(s.cfg.Store.Node(key), s.cfg.Clock.Now(), notAfter)
}

// Exchange sends one request by way of the crash points before and after it.
func Exchange(x crash.Exchange, send func() error) error {
	if err := crash.At(x.Send); err != nil {
		return err
	}
	err := send()
	if lost := crash.At(x.Reply); lost != nil {
		return lost
	}
	return err
}
