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
