package request

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
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

	Confirmed bool // the store waits until what it wrote is confirmed

	ReleaseTimeout time.Duration // of the client: how long a caller of unlock waits for a node, and Close

	Warn, Info func(text string, args ...any)
	Holds      func(node string) int // how many holds of the client a node has
	Server     string                // what operators call the store's only node; "" if it has several
}

// Sender sends the requests of one client, and cleans up after those of which the outcome is unknown. All its methods
// are safe for concurrent use.
type Sender struct {
	cfg     Config
	ledger  ledger
	outages outages
	workers workers

	// All that has to end when the client closes. See closing.go.
	closing chan struct{} // closed when Close begins
	calls   calls
}

// New returns a Sender. It sends nothing.
func New(cfg Config) *Sender {
	s := &Sender{
		cfg: cfg, closing: make(chan struct{}), calls: calls{over: make(chan struct{})},
		workers: workers{next: make(chan func())},
	}
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

// Send sends one request that must not be carried out late: the store is told when it is sent, before anything that may
// hold it up, and how late it may be carried out. A process that stops in between sends the request when its time is
// over, and the store does not carry it out. The receipt is the store's; without one it has the time of sending alone.
func (s *Sender) Send(
	ctx context.Context, x crash.Exchange, of store.Rules, limit time.Duration,
	send func(when store.Timing) (store.Receipt, error),
) (receipt store.Receipt, err error) {
	node := s.cfg.Store.Node(of.Key())
	when := store.Timing{Sent: s.cfg.Clock.Now(), Within: limit}
	if !s.outages.knows(node) {
		defer s.expect(Event{Of: of, Node: node, Sent: when.Sent})()
	}
	err = Exchange(x, func() (err error) {
		receipt, err = send(when)
		return err
	})
	if receipt == (store.Receipt{}) {
		receipt.Since = when.Sent
	}
	if err == nil || ctx.Err() == nil { // a caller that leaves says nothing about the node
		s.Noted(Event{Of: of, Node: node, Sent: receipt.Since, Err: err})
	}
	return receipt, err
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
