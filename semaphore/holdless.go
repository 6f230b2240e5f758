package semaphore

// holdless is the part of a protocol that permits do not use: they are not re-entered, and by default pass from one
// holder to the next by being free in between.
type holdless struct{}

// Excludes is false: only Redis knows how many permits are free.
func (holdless) Excludes(string) bool { return false }

// Follows is true: the first refused caller goes first, so that small requests do not starve a large one.
func (holdless) Follows(string) bool { return true }

// Inherits is false: permits that nobody owns are not passed on.
func (holdless) Inherits(string) bool { return false }
