package rwlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/rlock"
)

// ErrUpgrade means that the write lock was asked for by a context that carries a read hold of the same
// lock, and no write hold. Two readers that wait for each other to leave would wait for ever, so neither
// waits: release the read hold first, or take the write lock from the beginning.
var ErrUpgrade = errors.New("holdfast: the caller holds the read side; unlock it before locking the write side")

// upgradeError is ErrUpgrade with the name of the lock.
type upgradeError struct{ name string }

func (e *upgradeError) Error() string {
	return fmt.Sprintf("holdfast: the caller holds the read side of %q; unlock it before locking the write side",
		e.name)
}

func (*upgradeError) Unwrap() error { return ErrUpgrade }

// Lock is a read-write lock: one lock with two sides. It holds nothing itself and is safe for concurrent
// use.
type Lock struct {
	read, write *rlock.Lock
}

// New returns a handle on the read-write lock of that name. It is cheap and sends nothing. The options are
// those of both sides. A bad name or option is an *rlock.ArgumentError from every call on either side.
func New(client *rlock.Client, name string, opts ...rlock.Option) *Lock {
	c := (*redisclient.Client)(client)
	s, err := newShape(c, name)
	return &Lock{
		read:  c.Lock(reader{s}, opts, err),
		write: c.Lock(writer{s}, opts, err),
	}
}

// Read is the side of the readers: any number of them hold it at the same time, and no writer.
//
// Inside a hold of the other side, that is with a context that carries it, it is granted at once; it may
// outlive the write hold, and then keeps the lock for reading. With a context that carries a read hold it
// re-enters, also while a writer waits. Otherwise it waits for writers, those included that came earlier
// and wait themselves, as far as they are this module's.
//
// Its fencing tokens are not below the last writer's, and below the next one's. The package's documentation says what
// they are after Redis lost its data or came back with older data.
func (l *Lock) Read() *rlock.Lock {
	if l == nil {
		return nil // whose calls say so
	}
	return l.read
}

// Write is the side of the writers: one holds it, and nobody else holds either side.
//
// With a context that carries a read hold of this lock, and no write hold, it is refused with ErrUpgrade.
func (l *Lock) Write() *rlock.Lock {
	if l == nil {
		return nil
	}
	return l.write
}

// Redisson's names beside a read-write lock's own.
const (
	channelPrefix = "redisson_rwlock"
)

// shape is what both sides of one name share.
type shape struct {
	name, key, channel, token, gate string

	base     string // what the names of hold keys begin with
	fenceTTL int64  // ms; negative: the token never expires
	shut     time.Duration
}

func newShape(client *redisclient.Client, name string) (*shape, error) {
	s := &shape{name: name}
	core, err := client.Core()
	if err != nil {
		return s, err
	}
	if s.key, err = core.Key(name); err != nil {
		return s, err
	}
	s.channel = keys.Prefix(channelPrefix, s.key)
	s.token, s.gate = keys.Token(s.key), keys.Own("gate", s.key)
	s.base = keys.Suffix(s.key, "")
	s.fenceTTL = core.FenceTTL
	s.shut = min(core.MaxPoll*5/2, core.Lease).Truncate(time.Millisecond)
	return s, core.CheckSlot(s.key, s.channel, s.token, s.gate, s.base)
}

func (s *shape) Name() string    { return s.name }
func (s *shape) Key() string     { return s.key }
func (s *shape) Channel() string { return s.channel }

// GateLife is how long the gate stays shut after each attempt of a writer that finds readers.
func (s *shape) GateLife() time.Duration { return s.shut }

// hold is hold key 1 of a reader.
func (s *shape) hold(id string) string { return luacall.HoldKey(s.base, id, 1) }
