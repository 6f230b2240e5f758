package wake

import (
	"maps"
	"slices"
)

// Shards are the nodes that the hub keeps a line for.
func (h *Hub) Shards() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.lines))
}
