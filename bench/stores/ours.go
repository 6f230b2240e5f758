package main

import (
	"context"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/lock"
)

// ours is a client of this project on any store.
type ours struct {
	provider lock.Provider
	close    func() error
}

func (c ours) Lock(names ...string) contender.Lock {
	return &handle{provider: c.provider, name: names[0]}
}

func (c ours) Close() error { return c.close() }

// handle makes a handle for every call, as an application does whose locks are named by an id.
type handle struct {
	provider lock.Provider
	name     string
	unlock   func() error
}

func (h *handle) Lock(ctx context.Context) (err error) {
	_, h.unlock, err = h.provider.Lock(h.name).Lock(ctx)
	return err
}

func (h *handle) Unlock() error { return h.unlock() }
