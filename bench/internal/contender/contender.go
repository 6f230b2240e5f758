// Package contender has one adapter for every library that is measured, and for the floors below them.
//
// An adapter does what the library's own documentation tells its users to do, and nothing on top: no
// state of its own but what is to be kept between Lock and Unlock, so that what is measured is the
// library.
package contender

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/wire"
)

// Target is what a client is opened for.
type Target struct {
	Addrs []string      // one server, or several independent ones
	Lease time.Duration // 0: 30 s
	Meter *wire.Meter

	User, Password string // of etcd; "": it asks for none
}

func (t Target) lease() time.Duration {
	if t.Lease == 0 {
		return 30 * time.Second
	}
	return t.Lease
}

// connect makes a go-redis client as an application would, with the default options, and a dialer that
// counts.
func (t Target) connect(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Dialer: t.Meter.Dial})
}

// Client is what one process has of a library.
type Client interface {
	// Lock returns a handle for one goroutine at a time on a name, or on several names at once.
	Lock(names ...string) Lock
	Close() error
}

// Lock is a handle on a lock.
type Lock interface {
	Lock(ctx context.Context) error // waits
	Unlock() error                  // of what Lock has got
}

// Opener makes a client.
type Opener func(t Target) (Client, error)

// The contenders by name.
const (
	Ours            = "holdfast"
	OursFair        = "holdfast fairlock"
	OursMulti       = "holdfast multilock"
	OursRed         = "holdfast redlock"
	OursKept        = "holdfast, handle kept"
	OursKeep        = "holdfast, Keep(1s)"
	OursBrief       = "holdfast, Keep(1ms)" // whose release nobody waits for
	OursRead        = "holdfast rwlock"
	OursPermit      = "holdfast semaphore"
	Bsm             = "bsm/redislock"
	Redsync         = "redsync"
	RedsyncFailFast = "redsync fail-fast"
	Rueidis         = "rueidislock"
	Etcd            = "etcd concurrency.Mutex" // on one session, where there is nothing else beside the name
	EtcdEachHandle  = Etcd + ", session per goroutine"
	EtcdEachLock    = Etcd + ", session per lock"
	GoZooKeeper     = "go-zookeeper Lock"
	Curator         = "Curator InterProcessMutex" // in a JVM: it is opened by scenarios that have a load for it
	Redisson        = "Redisson"                  // in a JVM: it is opened by scenarios that have a load for it
	Scripts         = "floor: two scripts"
	SetNX           = "floor: SET NX PX"
	Pipelined       = "floor: auto-pipelined"
	Relay           = "floor: message and script"
	Grant           = "floor: message grants"
)

var openers = map[string]Opener{
	Ours:            openOurs,
	Bsm:             openBsm,
	Redsync:         openRedsync(false),
	RedsyncFailFast: openRedsync(true),
	Rueidis:         openRueidis,
	Scripts:         openScripts(false),
	Pipelined:       openScripts(true),
	SetNX:           openSetNX,
	Relay:           openRelay(asked),
	Grant:           openRelay(granted),
}

// Known reports that there is a contender of that name.
func Known(name string) bool { return openers[name] != nil }

// Open makes a client of the contender of that name.
func Open(name string, t Target) (Client, error) {
	open := openers[name]
	if open == nil {
		return nil, fmt.Errorf("no contender is called %q", name)
	}
	c, err := open(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Floor reports that a contender is no library but what lies below one.
func Floor(name string) bool { return strings.HasPrefix(name, "floor: ") }

// IsOurs reports that a contender is of this module.
func IsOurs(name string) bool {
	return strings.HasPrefix(name, Ours)
}
