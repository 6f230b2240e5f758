package rlock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/redisstore"
)

func init() {
	bridge.CoreOf = func(client any) (bridge.Core, error) {
		c, _ := client.(*Client)
		if err := c.check(); err != nil {
			return bridge.Core{}, err
		}
		return bridge.Core{
			Engine: c.engine, Store: c.store, ClientID: c.id, Lease: c.options.Lease, MaxPoll: c.options.MaxPoll,
			FenceTTL: c.fenceTTL(), Cluster: c.cluster, Key: c.key, RequestLife: c.requestLife(),
		}, nil
	}
	bridge.RequestOf = func(client, opts any) (engine.Request, error) {
		return client.(*Client).request(opts.([]Option))
	}
	bridge.Lock = func(client any, proto redisstore.Protocol, opts any, anew bool, err error) any {
		c, _ := client.(*Client)
		if bad := c.check(); bad != nil {
			return &Lock{err: bad}
		}
		l := newLock(c, proto, opts.([]Option), err)
		l.req.Anew = anew
		return l
	}
	bridge.Open = func(lock any, with bridge.Options) (*engine.Engine, engine.Request, error) {
		l, _ := lock.(*Lock)
		if l == nil {
			return nil, engine.Request{}, &ArgumentError{Name: "lock", Problem: "must not be nil"}
		}
		if err := l.check(context.Background()); err != nil {
			return nil, engine.Request{}, err
		}
		o := options{lease: with.Lease, maxWait: with.MaxWait, maxHold: with.MaxHold}
		req := o.over(l.req)
		return l.engine, req, checkLease(req)
	}
	bridge.Join = join
	bridge.OptionsOf = func(opts any) (bridge.Options, error) {
		o := collect(opts.([]Option))
		return bridge.Options{Lease: o.lease, MaxWait: o.maxWait, MaxHold: o.maxHold}, o.err
	}
	bridge.ClientOver = func(opts any, conns *links.Links) (any, error) {
		o, err := opts.(*ClientOptions).withDefaults()
		if err != nil {
			return nil, err
		}
		return newClient(o, conns)
	}
	bridge.ClientOn = func(opts any, st bridge.Store) (any, error) {
		o, err := opts.(*ClientOptions).withDefaults()
		if err != nil {
			return nil, err
		}
		return clientOn(o, st, false)
	}
}

// requestLife covers the time for which an acquisition is sent again, and for which it is taken back when it
// was given up.
func (c *Client) requestLife() int64 {
	return (2*c.options.Lease + c.options.ReleaseTimeout + 10*time.Second).Milliseconds()
}
