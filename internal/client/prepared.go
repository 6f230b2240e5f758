package client

import "sync"

// preparedNames is how many names a generation has. A name that is used at least once while as many others are
// prepared stays.
const preparedNames = 512

// Prepared keeps what a primitive derives from a name, for handles of names that were used a moment ago: many
// applications make one for each call. What is kept is constant. Its methods are safe for concurrent use, and the zero
// Prepared is empty.
type Prepared struct {
	mu         sync.RWMutex // guards the maps; nothing is called under it
	young, old map[string]any
}

// Get returns what was kept under a name, or nil.
func (p *Prepared) Get(name string) any {
	p.mu.RLock()
	v, young := p.young[name]
	if !young {
		v = p.old[name]
	}
	p.mu.RUnlock()
	if v != nil && !young {
		p.Put(name, v)
	}
	return v
}

// Put keeps something. The older generation goes when the younger one is full.
func (p *Prepared) Put(name string, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.putLocked(name, v)
}

func (p *Prepared) putLocked(name string, v any) {
	if len(p.young) >= preparedNames {
		p.old, p.young = p.young, nil
	}
	if p.young == nil {
		p.young = make(map[string]any)
	}
	p.young[name] = v
}
