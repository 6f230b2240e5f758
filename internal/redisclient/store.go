package redisclient

import (
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Store is what a client needs of its store.
type Store interface {
	store.Store
	// Bind turns a protocol of Redis into one of the store. A store other than Redis uses only its rules.
	Bind(p redisstore.Protocol) store.Protocol
	// Sharded reports whether scripts must publish by SPUBLISH.
	Sharded() bool
}

var _ Store = (*redisstore.Store)(nil)

// A Ruled is a store that serves protocols by their rules alone.
type Ruled interface {
	store.Store
	store.Teller
	Bind(rules store.Rules) store.Protocol
}

// ByRules adapts a store that serves protocols by their rules.
func ByRules(st Ruled) Store { return ruled{st} }

type ruled struct{ Ruled }

func (r ruled) Bind(p redisstore.Protocol) store.Protocol { return r.Ruled.Bind(p) }

func (r ruled) Sharded() bool { return false }
