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
	names int                                                                  // that one lock has, if not 1
}

const (
	// sided is what the locks of rwlock lack, and others that are not for scheduled jobs and elections.
	sided = conformance.MinHolds | conformance.Notes
	// joined is what several locks lack that are used as one.
	joined = sided | conformance.Moves | conformance.Sets
)

// kinds returns the primitives that make sense on a site.
func (s *site) kinds() []kind {
	if s.nodes {
		return []kind{{name: "redlock", make: quorum, quiet: true, lacks: sided | conformance.Moves}}
	}
	all := []kind{
		{name: "rlock", make: reentrant},
		{name: "write", make: writing, lacks: sided},
		{name: "read", make: reading, rival: writing, lacks: sided | conformance.Exclusion | conformance.Fencing},
		{name: "fairlock", make: fair, lacks: conformance.MinHolds},
		{name: "multilock", names: 2, make: several("%:a", "%:b"), lacks: joined},
		{name: "semaphore", make: permit, lacks: numbers.PermitLacks},
	}
	if s.cluster != nil { // elsewhere one script takes them anyway
		all = append(all, kind{
			name: "multilock in one slot", names: 2, make: several("{%}:a", "{%}:b"), lacks: joined,
		})
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

// several makes locks of several names, each the given one in a pattern. If the name has a hash tag, the patterned
// ones have it too.
func several(patterns ...string) func(*process, string, ...rlock.Option) conformance.Lock {
	return func(p *process, name string, opts ...rlock.Option) conformance.Lock {
		var members []*rlock.Lock
		for _, pattern := range patterns {
			if strings.Contains(name, "{") {
				pattern = strings.Trim(pattern, "{}")
				pattern = strings.ReplaceAll(pattern, "}", "")
			}
			members = append(members, rlock.New(p.client, strings.ReplaceAll(pattern, "%", name)))
		}
		return set{multilock.New(members, opts...)}
	}
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

// permit is a semaphore of one permit.
func permit(p *process, name string, opts ...rlock.Option) conformance.Lock {
	p.keep(name)
	return numbers.Permit{Semaphore: semaphore.New(p.client, name, opts...)}
}
