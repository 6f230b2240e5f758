package redisclient

import (
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Store is what a client needs of the store that it stands on.
type Store interface {
	store.Store
	// Bind makes a protocol of the store's of one of Redis. Another store takes its rules, and serves them itself.
	Bind(p redisstore.Protocol) store.Protocol
	// Sharded reports whether Redis is told to publish by SPUBLISH.
	Sharded() bool
}

var _ Store = (*redisstore.Store)(nil)

// A Ruled is a store that serves protocols by their rules alone.
type Ruled interface {
	store.Store
	Bind(rules store.Rules) store.Protocol
}

// ByRules is the store as a client needs it.
func ByRules(st Ruled) Store { return ruled{st} }

type ruled struct{ Ruled }

func (r ruled) Bind(p redisstore.Protocol) store.Protocol { return r.Ruled.Bind(p) }

func (r ruled) Sharded() bool { return false }
