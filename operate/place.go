package operate

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate/internal/listing"
	"github.com/holdfast-go/holdfast/rlock"
)

// place is the Redis of a client, and which of its keys are the client's.
type place struct{ redisclient.Core }

func placeOf(client *rlock.Client) (place, error) {
	core, err := (*redisclient.Client)(client).Core()
	if err == nil && core.Conns == nil {
		err = &lock.ArgumentError{Name: "client", Problem: "must be a client of Redis"}
	}
	return place{core}, err
}

// source is where its locks are listed.
func (p place) source() *listing.Source {
	return &listing.Source{Client: p.Conns.Traffic, Within: p.within, Sharded: p.Conns.Sharded}
}

// within is a context with the time limit of a command, and not beyond a deadline of ctx: go-redis reads until then.
func (p place) within(ctx context.Context) context.Context {
	limit := request.CommandLimit(p.Lease)
	if end, ok := ctx.Deadline(); ok {
		return links.WithinAll(ctx, limit, time.Until(end))
	}
	return links.Within(ctx, limit)
}

// pattern is what the keys of names match that match a pattern.
func (p place) pattern(names string) string { return listing.Quote(p.Prefix) + names }

// name is the name that has a key, if there is one.
func (p place) name(key string) (name string, ours bool) {
	name, ours = strings.CutPrefix(key, p.Prefix)
	return name, ours && (name != "" || p.Prefix == "")
}
