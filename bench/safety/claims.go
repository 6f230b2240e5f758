package main

import "strings"

// claim is what the documentation of a library says of a fault.
type claim int

const (
	silent  claim = iota // it says nothing
	claimed              // it says that the lock stays exclusive, or that the holder is told
	denied               // it says that the lock does not survive it
)

func (c claim) mark() string { return []string{"–", "yes", "no"}[c] }

// says are the claims, by library and fault. docs/peers-safety.md has the sentences.
var says = map[string]map[string]claim{
	"bsm/redislock":          {"none": claimed, "killed": claimed, "cut off": claimed, "server frozen": claimed, "restart, data lost": claimed},
	"redsync":                {"none": claimed, "killed": claimed, "stopped": claimed, "cut off": claimed, "replies late": claimed, "server frozen": claimed},
	"rueidislock":            {"none": claimed, "killed": claimed, "cut off": claimed, "server frozen": claimed, "restart, data kept": claimed, "restart, data lost": claimed},
	"cirello.io/pglock":      {"none": claimed, "killed": claimed, "cut off": claimed, "server frozen": claimed, "restart, data kept": claimed},
	"etcd concurrency.Mutex": {"none": claimed, "killed": claimed, "stopped": denied, "cut off": claimed, "replies late": claimed, "server frozen": claimed, "restart, data kept": claimed},
}

// claimOf is what an entry's documentation says of a fault.
func claimOf(e entry, f fault) claim {
	if e.module != ours {
		return says[e.name][f.name]
	}
	switch f.name {
	case "stopped":
		if strings.HasSuffix(e.name, "context only") {
			return denied
		}
	case "restart, data lost":
		return denied
	case "failover, lock lost":
		if !strings.HasSuffix(e.name, "MinReplicas 1") {
			return denied
		}
	}
	return claimed
}
