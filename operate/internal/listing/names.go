package listing

import (
	"regexp"
	"strings"
)

// evidence is by what a name was found.
type evidence uint16

const (
	ofKey     evidence = 1 << iota // a key of that name
	ofToken                        // its fencing token
	ofLeases                       // the leases of its permits
	ofRequest                      // the requests of a semaphore or latch
	ofFair                         // the queue of a fair lock
	ofGate                         // the gate of a read-write lock
	ofLockChannel
	ofRWChannel
	ofPermitChannel
	ofLatchChannel
)

// The prefixes of Redisson's keys and channels, and of ours.
const (
	tokenPrefix   = "redisson_lock_token:"
	javaQueue     = "redisson_lock_queue"
	javaTimes     = "redisson_lock_timeout"
	unlockLatch   = "redisson_unlock_latch:"
	lockChannel   = "redisson_lock__channel"
	rwChannel     = "redisson_rwlock"
	permitChannel = "redisson_sc"
	latchChannel  = "redisson_countdownlatch__channel__"
	ownPrefix     = "holdfast_"
	leasesSuffix  = ":timeout"
)

// uuid is how the id of a client, and so that of a hold, begins.
const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	holdID     = regexp.MustCompile(`^` + uuid + `:.`)
	fairSuffix = regexp.MustCompile(`:` + uuid + `(:[^:]*)?$`)
	readerKey  = regexp.MustCompile(`:` + uuid + `:.*:rwlock_timeout:[0-9]+$`)
)

// related are the keys beside a lock by their prefix, and the evidence that each is.
var related = []struct {
	prefix string
	is     evidence
}{
	{tokenPrefix, ofToken},
	{javaQueue + ":", ofFair},
	{javaTimes + ":", ofFair},
	{ownPrefix + "fair_queue:", ofFair},
	{ownPrefix + "fair_state:", ofFair},
	{ownPrefix + "fair_alive:", ofFair},
	{ownPrefix + "gate:", ofGate},
	{ownPrefix + "request:", ofRequest},
}

// nameOf returns the name that a key or channel belongs to, given what follows its prefix. It undoes keys.Prefix and
// keys.Own. "x" and "{x}" have some keys in common; those are taken for keys of "x".
func nameOf(rest string) string {
	if own, ok := strings.CutPrefix(rest, ":"); ok && strings.Contains(own, "{") {
		return own
	}
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		if name, closed := strings.CutSuffix(inner, "}"); closed && !strings.Contains(name, "{") {
			return name
		}
	}
	return rest
}

// named sorts a key of the server: the name that it speaks for, and how.
func named(key string) (name string, is evidence) {
	for _, r := range related {
		if rest, ok := strings.CutPrefix(key, r.prefix); ok {
			return nameOf(rest), r.is
		}
	}
	if strings.HasPrefix(key, unlockLatch) || strings.HasPrefix(key, ownPrefix) || readerKey.MatchString(key) {
		return "", 0
	}
	if rest, ok := strings.CutSuffix(key, leasesSuffix); ok && strings.Contains(rest, "{") {
		return nameOf(rest), ofLeases
	}
	return key, ofKey
}

// channels are the patterns of channels on which waiters listen, and the evidence that each is.
var channels = []struct {
	prefix string
	is     evidence
}{
	{lockChannel + ":", ofLockChannel},
	{ownPrefix + "fair:", ofFair},
	{rwChannel + ":", ofRWChannel},
	{permitChannel + ":", ofPermitChannel},
	{latchChannel, ofLatchChannel},
}

// waitedFor sorts a channel. A fair lock's end with the id of a client or of a waiter.
func waitedFor(channel string) (name string, is evidence) {
	for _, c := range channels {
		rest, ok := strings.CutPrefix(channel, c.prefix)
		if !ok {
			continue
		}
		if c.is == ofLatchChannel { // always braces, whatever the name contains
			return strings.TrimSuffix(strings.TrimPrefix(rest, "{"), "}"), c.is
		}
		if at := fairSuffix.FindStringIndex(rest); at != nil {
			return nameOf(rest[:at[0]]), ofFair
		}
		return nameOf(rest), c.is
	}
	return "", 0
}
