package semaphore

import "github.com/holdfast-go/holdfast/internal/store"

// holdless is the part of a protocol that permits have no use for: they are not entered again, and
// pass from one holder to the next by being free in between.
type holdless struct{}

// Excludes is false: only Redis knows how many are free.
func (holdless) Excludes(string) bool { return false }

// Traits says that any number ask at a time, as long as Redis refuses nobody.
func (holdless) Traits() *store.Traits { return &traits }

var traits = store.Traits{Crowds: true}

// Follows is true: whoever was refused first goes first, so that small requests do not starve a large one.
func (holdless) Follows(string) bool { return true }

// Inherits is false: what nobody owns is not passed on.
func (holdless) Inherits(string) bool { return false }
