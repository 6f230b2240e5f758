package redisclient

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/listing"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/lock"
)

// Source is where the locks of the client's Redis are listed.
func (c *Client) Source() (*listing.Source, error) {
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	if core.Conns == nil {
		return nil, &lock.ArgumentError{Name: "client", Problem: "must be a client of Redis"}
	}
	limit := request.CommandLimit(core.Lease)
	return &listing.Source{
		Client:  core.Conns.Traffic,
		Within:  func(ctx context.Context) context.Context { return links.Within(ctx, limit) },
		Sharded: core.Conns.Sharded,
	}, nil
}
