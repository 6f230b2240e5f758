package etcdlock

import (
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock/internal/etcdstore"
	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
)

// Client is one process's participant in the contention for locks: its identity, its lease in etcd, and the watchdog
// that renews it. One per process is enough; its callers wait for one another without asking etcd. All methods are safe
// for concurrent use.
type Client struct {
	core  client.Client
	store *etcdstore.Store
	etcd  *clientv3.Client

	prefix string // of the keys that are no lock's
}

var _ lock.Provider = (*Client)(nil)

// NewClient makes a Client over the application's client of etcd, which must stay open until Close. It sends nothing.
// It copies how that client dials, which is no data race as long as nobody calls its SetEndpoints, or its Sync, until
// NewClient returns.
//
// Nil options mean the defaults. An invalid option or a nil client is a *lock.ArgumentError.
func NewClient(etcd *clientv3.Client, opts *Options) (*Client, error) {
	if etcd == nil {
		return nil, &lock.ArgumentError{Name: "etcd", Problem: "must not be nil"}
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
	st := etcdstore.New(etcd, general.Lease, o.Prefix)
	site := client.Site{
		Kind: Store, ClientID: id, Store: st, Server: strings.Join(etcd.Endpoints(), ","),
	}
	return &Client{core: client.New(general, site), store: st, etcd: etcd, prefix: o.Prefix}, nil
}

// Lock returns a handle on the lock of that name, which is fair. It is cheap and sends nothing. With an invalid name or
// option every call on the handle returns a *lock.ArgumentError: a lease that is longer than that of the Client,
// MinHold, Keep and Yields are refused, and so is a name below [Options.Prefix].
func (c *Client) Lock(name string, opts ...lock.Option) *lock.Lock {
	if c == nil || c.store == nil {
		return (*lock.Lock)(handle.New(&handle.Parts{Err: client.NotNew()}))
	}
	_, err := c.core.Key(name)
	if err == nil && strings.HasPrefix(name+"/", c.prefix) {
		err = &lock.ArgumentError{Name: "name", Value: name, Problem: fmt.Sprintf(
			"must not be below %q, which is Options.Prefix", c.prefix)}
	}
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

// VersionError says that a server of etcd is too old for locks. The first call returns it, in an error that matches
// lock.ErrUnavailable: use errors.As.
type VersionError = etcdstore.VersionError
