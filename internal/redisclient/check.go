package redisclient

import (
	"github.com/holdfast-go/holdfast/internal/checkup"
	"github.com/holdfast-go/holdfast/internal/request"
)

// Checkup is what a check of the client works with; its trial lock has that name.
func (c *Client) Checkup(name string) (*checkup.Client, error) {
	source, err := c.Source()
	if err != nil {
		return nil, err
	}
	key, err := c.core.Key(name)
	if err != nil {
		return nil, err
	}
	return &checkup.Client{
		Redis: source.Client, Within: source.Within, Sharded: source.Sharded, Lease: c.core.Lease,
		Limit: request.CommandLimit(c.core.Lease), MinReplicas: c.core.MinReplicas, Key: key,
		Slowness: c.core.Conns.Slowness(),
	}, nil
}
