package client

import (
	"sync"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// preparedNames is how many names a generation has. A name that is used at least once while as many others are
// prepared stays.
const preparedNames = 512

// Prepared keeps what a primitive derives from a name, for handles of names that were used a moment ago: many
// applications make one for each call. Its methods are safe for concurrent use, and the zero Prepared is empty.
type Prepared struct {
	young, old atomic.Pointer[sync.Map] // of *Named by name

	mu sync.Mutex // guards n, and the change of generations
	n  int        // names in the younger generation
}

// Named is what is prepared for the handles of a name: its protocol, and a handle. It is safe for concurrent use.
//
// A handle is constant, so callers that ask for the same options share one. Named keeps the first handle that was made.
// A caller that asks for other options gets a handle of its own: few names have handles with different options.
type Named struct {
	Proto store.Protocol // constant
	made  atomic.Pointer[made]
}

// made is a handle with the options that it was made of.
type made struct {
	of   handle.Options
	lock *lock.Lock
}

// Get returns what was kept under a name, or nil.
func (p *Prepared) Get(name string) *Named {
	if v, ok := load(&p.young, name); ok {
		return v
	}
	v, ok := load(&p.old, name)
	if ok {
		p.Put(name, v)
	}
	return v
}

func load(generation *atomic.Pointer[sync.Map], name string) (*Named, bool) {
	names := generation.Load()
	if names == nil {
		return nil, false
	}
	v, _ := names.Load(name)
	n, ok := v.(*Named)
	return n, ok
}

// Put keeps something. The older generation goes when the younger one is full.
func (p *Prepared) Put(name string, v *Named) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n >= preparedNames || p.young.Load() == nil {
		// A Get between the two steps may miss a name. Its caller then prepares the name anew.
		p.old.Store(p.young.Swap(new(sync.Map)))
		p.n = 0
	}
	if _, there := p.young.Load().Swap(name, v); !there {
		p.n++
	}
}
