package main

import (
	"slices"
	"strings"
)

// claim is what the documentation of a library says of a fault.
type claim int

const (
	silent  claim = iota // it says nothing
	claimed              // it says that the lock stays exclusive, or that the holder is told of the loss
	denied               // it says that the lock does not survive it
)

func (c claim) mark() string { return []string{"–", "yes", "no"}[c] }

// says are the claims of the peers, by library and fault. docs/peers-safety.md has the sentences.
var says = map[string]map[claim][]string{
	"bsm/redislock": {claimed: {"none", "killed", "cut off", "server frozen"}},
	"redsync":       {claimed: {"none", "killed", "stopped", "cut off", "replies late", "server frozen"}},
	"rueidislock": {claimed: {"none", "killed", "cut off", "server frozen", "restart, data kept", "restart, data lost",
		"failover, lock lost", "Sentinel failover, lock lost", "server's clock ahead"}},
	"Redisson RLock":       {claimed: {"none", "killed"}, denied: {"stopped"}},
	"Redisson RFencedLock": {claimed: {"none", "killed"}, denied: {"stopped"}},
	"cirello.io/pglock":    {claimed: {"none", "killed", "cut off", "server frozen", "restart, data kept"}},
	"Curator InterProcessMutex": {
		claimed: {"none", "killed", "cut off", "replies late", "server frozen", "restart, data kept"},
		denied:  {"stopped"},
	},
	"etcd concurrency.Mutex": {
		claimed: {"none", "killed", "cut off", "replies late", "server frozen", "restart, data kept"},
		denied:  {"stopped"},
	},
}

// claimOf is what an entry's documentation says of a fault.
func claimOf(e entry, f fault) claim {
	if e.module != ours {
		for c, names := range says[e.name] {
			if slices.Contains(names, f.name) {
				return c
			}
		}
		return silent
	}
	switch f.name {
	case "stopped":
		if strings.HasSuffix(e.name, "context only") {
			return denied
		}
	case "restart, data lost", "server's clock ahead":
		return denied
	case "failover, lock lost", "Sentinel failover, lock lost":
		if !strings.HasSuffix(e.name, "MinReplicas 1") {
			return denied
		}
	}
	return claimed
}
