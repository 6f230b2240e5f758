package holdfasttest

import (
	"sync"

	"github.com/holdfast-go/holdfast/internal/memstore"
)

// Freeze stops the store: from now on it answers no client, as a server that hangs or a network that swallows
// everything. What is sent meanwhile waits for Thaw. A call whose context ends returns; a call without a limit gives
// up after a lease. A hold is lost when its validity ends, which [Lab.Advance] makes happen at once.
func (l *Lab) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.frozen {
		l.frozen = true
		l.server.Freeze()
	}
}

// Thaw ends Freeze. The store carries out what was sent meanwhile, as a server does that goes on; what comes too late
// for its sender has no effect.
func (l *Lab) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen {
		l.frozen = false
		l.server.Thaw()
	}
}

func (l *Lab) isFrozen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen
}

// Drop loses the next n replies: the store carries the requests out, and the clients learn that the connection broke.
// It replaces what is left of an earlier Drop.
func (l *Lab) Drop(n int) { l.net.drop(n) }

// network loses the replies to the test's clients that are to be lost, and does nothing else.
type network struct {
	mu    sync.Mutex // guards drops
	drops int
}

func (n *network) drop(replies int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drops = replies
}

// Fate implements [memstore.Network].
func (n *network) Fate(r memstore.Request) memstore.Fate {
	if r.Client < firstMember || r.Kind == memstore.Subscribe || r.Kind == memstore.Message {
		return memstore.Fate{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.drops <= 0 {
		return memstore.Fate{}
	}
	n.drops--
	return memstore.Fate{Mute: true}
}
