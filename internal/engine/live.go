package engine

import "sync"

// census counts the live clients of this process at each server. A program has one, or a few. One that makes a client
// for each request, and closes none, has more with every request: each has connections, goroutines and holds of its
// own, and nothing else would say so before the server has no connection left.
//
// Only a store that is one server, or one list of them, has an address by which clients can be counted.
type census struct {
	mu sync.Mutex
	at map[string]*population // by the address
}

type population struct {
	live int
	told bool // that they are many
}

// many is how many live clients of one server are reported.
const many = 10

// clients are those of this process.
var clients = census{at: map[string]*population{}}

// enter counts a client, and reports that there are many now, once until all of them have left.
func (c *census) enter(address string) (warn bool) {
	if address == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	here := c.at[address]
	if here == nil {
		here = &population{}
		c.at[address] = here
	}
	here.live++
	warn = here.live >= many && !here.told
	here.told = here.told || warn
	return warn
}

// leave counts a client no more.
func (c *census) leave(address string) {
	if address == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if here := c.at[address]; here.live > 1 {
		here.live--
		return
	}
	delete(c.at, address)
}
