package rlock

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/redisstore"
)

// Client is one process's part in the contention for locks: its identity, its connections, the
// watchdog that renews what it holds, and its subscriptions. A process needs one; its locks wait for
// one another without asking Redis. All methods are safe for concurrent use.
type Client struct {
	id      string
	engine  *engine.Engine
	options ClientOptions
	store   bridge.Store
	cluster bool
}

// NewClient makes a Client from the application's Redis client: a *redis.Client of a single node or of
// a Sentinel, or a *redis.ClusterClient. It takes over address, credentials and TLS, and opens
// connections of its own when they are needed; it sends nothing now. The application's client stays
// the application's: the Client does not close it, and behind a Sentinel needs it open until Close.
//
// Nil options mean the defaults. A bad value, and a client that locks cannot be safe on (nil, a Ring),
// is an *ArgumentError.
func NewClient(rdb redis.UniversalClient, opts *ClientOptions) (*Client, error) {
	o, err := opts.withDefaults()
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
	return newClient(o, conns)
}

// newClient makes a client over its connections, which it will close.
func newClient(o ClientOptions, conns *links.Links) (*Client, error) {
	c, err := clientOn(o, redisstore.New(conns, o.MinReplicas), conns.Cluster())
	if err != nil {
		return nil, errors.Join(err, conns.Close())
	}
	return c, nil
}

// clientOn makes a client on a store, which it will close.
func clientOn(o ClientOptions, st bridge.Store, cluster bool) (*Client, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("rlock: no random client id: %w", err)
	}
	return &Client{
		id:      id.String(),
		store:   st,
		options: o,
		cluster: cluster,
		engine: engine.New(engine.Config{
			Store:          st,
			ClientID:       id.String(),
			Lease:          o.Lease,
			MaxPoll:        o.MaxPoll,
			ReleaseTimeout: o.ReleaseTimeout,
			MinReplicas:    o.MinReplicas,
			Words:          words,
			Events:         o.Observer.events(),
			Logger:         o.Logger,
		}),
	}, nil
}

var words = engine.Words{
	Busy: ErrBusy, NotHeld: ErrNotHeld, Released: ErrReleased, Closed: ErrClosed,
	Unavailable: ErrUnavailable, KeyConflict: ErrKeyConflict,
	Denied: denial{},
	Lost: func(name string, reason engine.Reason, cause error) error {
		return &LostError{Name: name, Reason: LossReason(reason), Err: cause}
	},
}

// Close ends the Client: new calls and waiting ones return ErrClosed, the contexts of everything held
// end with ErrClosed, what is held is released, and every goroutine is joined. It is bounded by
// ReleaseTimeout and not by a context, because at shutdown the one at hand is usually over. If locks
// were still held, its error names them; in tests that finds every forgotten unlock. Further calls do
// nothing and return nil.
func (c *Client) Close() error {
	held := c.engine.Close()
	if len(held) == 0 {
		return nil
	}
	sort.Strings(held)
	const most = 10
	more := ""
	if len(held) > most {
		more = fmt.Sprintf(" and %d more", len(held)-most)
		held = held[:most]
	}
	return fmt.Errorf("rlock: closed with locks still held: %q%s", held, more)
}
