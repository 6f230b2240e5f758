package rlock

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/request"
)

// Store is what an Observer is told of the locks on Redis, of whichever kind, and on servers that speak its protocol.
const Store = redisclient.Kind

// Client is one process's participant in the contention for locks: its identity, its connections, its subscriptions,
// and the watchdog that renews its holds. One per process is enough; its callers wait for one another without asking
// Redis. All methods are safe for concurrent use.
type Client redisclient.Client

// NewClient makes a Client from the application's Redis client: a *redis.Client of a single node or of Sentinel, or a
// *redis.ClusterClient. The Client copies address, credentials and TLS, and opens its own connections when it needs
// them; NewClient sends nothing. The application still owns its client: the Client does not close it, and behind
// Sentinel needs it open until Close.
//
// Nil options mean the defaults. An invalid option, or a client on which locks cannot be safe (nil, a Ring), is an
// *ArgumentError.
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
		Command: request.CommandLimit(o.Lease),
		// Less than the shortest interval between two renewals, so that the second of two that reach no replica of a
		// primary behind Sentinel is not made.
		Life: o.Lease / 4,
	})
	if err != nil {
		problem := strings.TrimPrefix(err.Error(), links.ErrUnsupported.Error()+": ")
		return nil, &ArgumentError{Name: "rdb", Problem: problem}
	}
	c, err := redisclient.New(o, conns)
	return (*Client)(c), err
}

// Stats returns what the Client does at this moment: for metrics, and for code that waits until it is idle. It sends
// nothing. Of a Client that did not come from NewClient they are zero.
func (c *Client) Stats() Stats { return (*redisclient.Client)(c).Stats() }

// Close ends the Client. New calls and waiting ones return ErrClosed, the contexts of all holds end with ErrClosed,
// the holds are released, and every goroutine is joined. Close is bounded by ReleaseTimeout rather than by a context,
// because at shutdown the context at hand has usually ended. That time counts from the first release that Redis has
// not answered: an unlock that ended unconfirmed and a Close after it take one and a half ReleaseTimeout at most. If
// locks were still held, its error names them; in a test that finds every forgotten unlock. Further calls do nothing
// and return nil.
func (c *Client) Close() error { return (*redisclient.Client)(c).Close() }

// New returns a handle on the reentrant lock of that name. It is cheap and sends nothing. With an invalid name or
// option every call on the handle returns an *ArgumentError.
func New(client *Client, name string, opts ...Option) *Lock {
	c := (*redisclient.Client)(client)
	n, err := prepare(c, name)
	return c.LockOf(n, opts, err)
}

// Lock is [New]: a Client is a [Provider].
func (c *Client) Lock(name string, opts ...Option) *Lock { return New(c, name, opts...) }

var _ Provider = (*Client)(nil)
