package topologies

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/numbers"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// kind is a primitive that is used like a lock.
type kind struct {
	name  string
	lacks conformance.Lacks
	make  func(p *process, name string, opts ...rlock.Option) conformance.Lock
	rival func(p *process, name string, opts ...rlock.Option) conformance.Lock // nil: make
	quiet bool                                                                 // nobody announces a release

	patterns []string // of the names that one lock has; nil: it has its own
	counts   bool     // it needs a number at its name first
}

const (
	// sided is what the locks of rwlock lack, and others that are not for scheduled jobs and elections.
	sided = conformance.MinHolds | conformance.Notes | conformance.Keeping
	// joined is what several locks lack that are used as one.
	joined = sided | conformance.Moves | conformance.Sets
)

// kinds returns the primitives that make sense on a site.
func (s *site) kinds() []kind {
	if s.nodes {
		return []kind{{name: "redlock", make: quorum, quiet: true, lacks: sided | conformance.Moves | conformance.Waiters}}
	}
	all := []kind{
		{name: "rlock", make: reentrant},
		{name: "write", make: writing, lacks: sided},
		{name: "read", make: reading, rival: writing, lacks: sided | conformance.Exclusion | conformance.Fencing},
		{name: "fairlock", make: fair, lacks: conformance.MinHolds | conformance.Keeping},
		several("multilock", "%:a", "%:b"),
		{name: "semaphore", make: permit, counts: true, lacks: numbers.PermitLacks},
	}
	if s.cluster != nil { // elsewhere one script takes them anyway
		for i := range all {
			if all[i].patterns != nil {
				all[i].lacks |= conformance.Erasure // at one instant
			}
		}
		all = append(all, several("multilock in one slot", "{%}:a", "{%}:b"))
	}
	return all
}

// other is the lock of that kind that every holder excludes.
func (k kind) other(p *process, name string, opts ...rlock.Option) conformance.Lock {
	if k.rival != nil {
		return k.rival(p, name, opts...)
	}
	return k.make(p, name, opts...)
}

func reentrant(p *process, name string, opts ...rlock.Option) conformance.Lock {
	return rlock.New(p.client, name, opts...)
}

func writing(p *process, name string, opts ...rlock.Option) conformance.Lock {
	return rwlock.New(p.client, name, opts...).Write()
}

func reading(p *process, name string, opts ...rlock.Option) conformance.Lock {
	return rwlock.New(p.client, name, opts...).Read()
}

func fair(p *process, name string, opts ...rlock.Option) conformance.Lock {
	return fairlock.New(p.client, name, opts...)
}

func quorum(p *process, name string, opts ...rlock.Option) conformance.Lock {
	return redlock.New(p.quorum, name, opts...)
}

// several is a kind of locks of several names, each the given one in a pattern.
func several(name string, patterns ...string) kind {
	k := kind{name: name, patterns: patterns, lacks: joined}
	k.make = func(p *process, name string, opts ...rlock.Option) conformance.Lock {
		var members []*rlock.Lock
		for _, key := range k.keys(name) {
			members = append(members, rlock.New(p.client, key))
		}
		return set{multilock.New(members, opts...)}
	}
	return k
}

// keys are the names that a lock has. If its own has a hash tag, all of them have it.
func (k kind) keys(name string) (keys []string) {
	if k.patterns == nil {
		return []string{name}
	}
	for _, pattern := range k.patterns {
		if strings.Contains(name, "{") {
			pattern = strings.Trim(pattern, "{}")
			pattern = strings.ReplaceAll(pattern, "}", "")
		}
		keys = append(keys, strings.ReplaceAll(pattern, "%", name))
	}
	return keys
}

type multi = multilock.Lock

// set is several locks used through a smaller interface.
type set struct{ *multi }

func (s set) Held(ctx context.Context) (rlock.Hold, error) {
	holds, err := s.multi.Held(ctx)
	if err != nil {
		return rlock.Hold{}, err
	}
	return holds[0], nil
}

func (s set) Inspect(ctx context.Context) (rlock.Info, error) {
	infos, err := s.multi.Inspect(ctx)
	if err != nil {
		return rlock.Info{}, err
	}
	return infos[0], nil
}

// permit is a semaphore of one permit.
func permit(p *process, name string, opts ...rlock.Option) conformance.Lock {
	p.keep(name)
	return numbers.Permit{Semaphore: semaphore.New(p.client, name, opts...)}
}
