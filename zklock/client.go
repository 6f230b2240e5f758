package zklock

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
	"github.com/holdfast-go/holdfast/zklock/internal/zkstore"
)

// Client is one process's participant in the contention for locks: its identity, its session in ZooKeeper, and the
// watchdog that renews it. One per process is enough; its callers wait for one another without asking ZooKeeper. All
// methods are safe for concurrent use.
type Client struct {
	core    client.Client
	store   *zkstore.Store
	servers []string
}

var _ lock.Provider = (*Client)(nil)

// NewClient makes a Client of an ensemble, whose servers are named as "host:port", each of them by itself. It sends
// nothing.
//
// Nil options mean the defaults. An invalid option or server is a *lock.ArgumentError.
func NewClient(servers []string, opts *Options) (*Client, error) {
	if err := badServers(servers); err != nil {
		return nil, err
	}
	var given Options
	if opts != nil {
		given = *opts
	}
	o, general, err := given.checked()
	if err != nil {
		return nil, err
	}
	id, err := client.NewID()
	if err != nil {
		return nil, err
	}
	servers = slices.Clone(servers)
	auth, acl := o.rights()
	st := zkstore.New(zkstore.Config{
		Servers: servers, Dialer: &wire.Dialer{Dial: o.Dial, TLS: o.TLS}, Lease: general.Lease,
		Root: o.Root, Own: o.Own, Auth: auth, ACL: acl,
	})
	site := client.Site{Kind: Store, ClientID: id, Store: st, Server: strings.Join(servers, ",")}
	return &Client{core: client.New(general, site), store: st, servers: servers}, nil
}

// Lock returns a handle on the lock of that name, which is fair. It is cheap and sends nothing. With an invalid name or
// option every call on the handle returns a *lock.ArgumentError: a lease that is longer than that of the Client,
// MinHold, Keep and Yields are refused.
func (c *Client) Lock(name string, opts ...lock.Option) *lock.Lock {
	if c == nil || c.store == nil {
		return (*lock.Lock)(handle.New(&handle.Parts{Err: client.NotNew()}))
	}
	_, err := c.core.Key(name)
	return c.core.Lock(c.store.Lock(name), opts, false, err)
}

// Stats returns what the Client does at this moment. It sends nothing. Of a Client that did not come from NewClient
// they are zero.
func (c *Client) Stats() lock.Stats {
	if c == nil {
		return lock.Stats{}
	}
	return c.core.Stats()
}

// Close ends the Client. New calls and waiting ones return lock.ErrClosed, the contexts of all holds end with it, and
// the holds are released. If locks were still held, its error names them. Further calls do nothing and return nil.
func (c *Client) Close() error {
	if c == nil || c.core.Engine == nil {
		return client.NotNew()
	}
	return c.core.Close()
}

// ServerError says that a server cannot keep locks as they are promised: it restores no session, grants less than
// [Options.Lease], or is too old. The first call returns it, in an error that matches lock.ErrUnavailable: use
// errors.As.
type ServerError = zkstore.ServerError
