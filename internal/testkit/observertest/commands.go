package observertest

import (
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast/lock"
)

// Commands are the commands that an observer was told of. The zero Commands is ready to use.
type Commands struct {
	mu  sync.Mutex // guards all
	all []lock.Command
}

// Add is an Observer's Command.
func (c *Commands) Add(one lock.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

// Of are those of a script; all for "".
func (c *Commands) Of(script string) []lock.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.all), func(one lock.Command) bool {
		return script != "" && one.Script != script
	})
}

// Failed is how many of a script have an error.
func (c *Commands) Failed(script string) (n int) {
	for _, one := range c.Of(script) {
		if one.Err != nil {
			n++
		}
	}
	return n
}
