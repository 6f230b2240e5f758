package wake

import (
	"maps"
	"slices"
)

// Shards returns the nodes for which the hub keeps a line.
func (h *Hub) Shards() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.lines))
}

// EndAll makes all lines be over, as line.end does before it takes them out of the hub.
func (h *Hub) EndAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		l.mu.Lock()
		l.topics = nil
		l.mu.Unlock()
	}
}
