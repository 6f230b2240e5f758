package semaphore

import "github.com/holdfast-go/holdfast/internal/store"

// holdless is the part of a protocol that permits do not use: they are not re-entered, and by default pass from one
// holder to the next by being free in between.
type holdless struct{}

// Excludes is false: only Redis knows how many permits are free.
func (holdless) Excludes(string) bool { return false }

// Traits says that any number of callers ask at a time, as long as Redis refuses none.
func (holdless) Traits() *store.Traits { return &traits }

var traits = store.Traits{Noun: noun, Busy: errTaken, SeveralAsk: true}

// Follows is true: the first refused caller goes first, so that small requests do not starve a large one.
func (holdless) Follows(string) bool { return true }

// Inherits is false: permits that nobody owns are not passed on.
func (holdless) Inherits(string) bool { return false }
