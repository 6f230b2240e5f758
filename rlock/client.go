package rlock

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/redisclient"
)

// Client is one process's part in the contention for locks: its identity, its connections, the
// watchdog that renews what it holds, and its subscriptions. A process needs one; its locks wait for
// one another without asking Redis. All methods are safe for concurrent use.
type Client redisclient.Client

// NewClient makes a Client from the application's Redis client: a *redis.Client of a single node or of
// a Sentinel, or a *redis.ClusterClient. It takes over address, credentials and TLS, and opens
// connections of its own when they are needed; it sends nothing now. The application's client stays
// the application's: the Client does not close it, and behind a Sentinel needs it open until Close.
//
// Nil options mean the defaults. A bad value, and a client that locks cannot be safe on (nil, a Ring),
// is an *ArgumentError.
func NewClient(rdb redis.UniversalClient, opts *ClientOptions) (*Client, error) {
	var given ClientOptions
	if opts != nil {
		given = *opts
	}
	o, err := redisclient.Options(given).Checked()
	if err != nil {
		return nil, err
	}
	conns, err := links.From(rdb, links.Limits{
		Command: engine.CommandLimit(o.Lease),
		// Less than the shortest time between two renewals, so that each asks Sentinel again.
		Life: o.Lease / 4,
	})
	if err != nil {
		problem := strings.TrimPrefix(err.Error(), links.ErrUnsupported.Error()+": ")
		return nil, &ArgumentError{Name: "rdb", Problem: problem}
	}
	c, err := redisclient.New(o, conns)
	return (*Client)(c), err
}

// Close ends the Client: new calls and waiting ones return ErrClosed, the contexts of everything held
// end with ErrClosed, what is held is released, and every goroutine is joined. It is bounded by
// ReleaseTimeout and not by a context, because at shutdown the one at hand is usually over. If locks
// were still held, its error names them; in tests that finds every forgotten unlock. Further calls do
// nothing and return nil.
func (c *Client) Close() error { return (*redisclient.Client)(c).Close() }

// New returns a handle on the reentrant lock of that name. It is cheap and sends nothing. A bad name or
// option is an *ArgumentError from every call on the handle.
func New(client *Client, name string, opts ...Option) *Lock {
	c := (*redisclient.Client)(client)
	p, err := newPlain(c, name)
	return c.Lock(p, opts, err)
}
