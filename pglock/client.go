package pglock

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock/internal/pgstore"
)

// Client is one process's participant in the contention for locks: its identity, its connections, and the watchdog that
// renews its holds. One per process is enough: its callers wait for one another without a request. All methods are safe
// for concurrent use.
type Client struct {
	core  client.Client
	store *pgstore.Store
	table pgstore.Table
}

var _ lock.Provider = (*Client)(nil)

// NewClient makes a Client from the application's pool, which connects to the server that takes writes, directly or
// through a pooler. The Client copies the pool's configuration, and opens connections of its own when it needs them, so
// renewals never wait for the application's work; [Options.MaxConns] says how many. NewClient sends nothing, and the
// pool may be closed afterwards.
//
// Nil options mean the defaults. An invalid option or a nil pool is a *lock.ArgumentError.
func NewClient(pool *pgxpool.Pool, opts *Options) (*Client, error) {
	if pool == nil {
		return nil, &lock.ArgumentError{Name: "pool", Problem: "must not be nil"}
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
	config := pool.Config()
	table := pgstore.Table(o.Table)
	st := pgstore.New(config, o.MaxConns, table, general.MaxPoll, o.MinReplicas, general.Lease)
	return &Client{
		core: client.New(general, client.Site{
			Kind: Store, ClientID: id, Store: st, Server: servers(config.ConnConfig),
		}),
		store: st, table: table,
	}, nil
}

// servers are the addresses that a pool may dial: in a failover the primary is another one of them.
func servers(config *pgx.ConnConfig) string {
	all := []string{net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))}
	for _, f := range config.Fallbacks { // the same address again, if it is tried without TLS, too
		if at := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return strings.Join(all, ",")
}

// Lock returns a handle on the reentrant lock of that name. It is cheap and sends nothing. With an invalid name or
// option every call on the handle returns a *lock.ArgumentError. A name has 1 to 1,024 bytes of UTF-8, without a zero
// byte. The options are those of package lock; Keep and Yields are refused.
func (c *Client) Lock(name string, opts ...lock.Option) *lock.Lock {
	if c == nil || c.store == nil {
		return (*lock.Lock)(handle.New(&handle.Parts{Err: client.NotNew()}))
	}
	return c.core.Lock(c.store.Lock(name), opts, false, c.check(name))
}

func (c *Client) check(name string) error {
	if _, err := c.core.Key(name); err != nil {
		return err
	}
	if !storable(name) {
		return &lock.ArgumentError{
			Name: "name", Value: fmt.Sprintf("%q", name),
			Problem: "must be UTF-8 without a zero byte, as PostgreSQL's text is",
		}
	}
	return nil
}

func storable(name string) bool {
	for _, r := range name {
		if r == 0 {
			return false
		}
	}
	return utf8.ValidString(name)
}

// Stats returns what the Client does at this moment. It sends nothing. For a Client that did not come from NewClient
// the result is zero.
func (c *Client) Stats() lock.Stats {
	if c == nil {
		return lock.Stats{}
	}
	return c.core.Stats()
}

// Close ends the Client. New calls and waiting ones return lock.ErrClosed, the contexts of all holds end with it, the
// holds are released, and every goroutine and connection of the Client ends. It takes [Options.ReleaseTimeout] at most,
// and half as much again if PostgreSQL does not answer. If locks were still held, its error names them. Further calls
// do nothing and return nil.
func (c *Client) Close() error {
	if c == nil || c.core.Engine == nil {
		return client.NotNew()
	}
	return c.core.Close()
}

// SchemaError says that the table of locks is missing, is not as this version needs it, or is closed to the user of the
// pool. The first call returns it, in an error that matches lock.ErrUnavailable: use errors.As.
type SchemaError = pgstore.SchemaError

// opened is what a function that takes a Client needs.
func (c *Client) opened() error {
	if c == nil || c.core.Engine == nil {
		return client.NotNew()
	}
	return nil
}
