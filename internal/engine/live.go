package engine

import "sync"

// liveClients counts the clients of this process at each server that were not closed. A program has one, or a few. If
// it makes a client for each request and closes none, it has more with every request, and each has connections,
// goroutines and holds of its own. Nothing else would say so before the server has no connection left.
//
// Only a store that is one server, or one list of them, has an address by which clients can be counted.
type liveClients struct {
	mu sync.Mutex // guards at, and is taken alone
	at map[string]*clientsOfServer
}

type clientsOfServer struct {
	live int
	told bool // that they are many; it stays until all of them have left, or each tenth client would be reported
}

// many is how many live clients of one server are reported.
const many = 10

// clients are those of this process.
var clients = liveClients{at: map[string]*clientsOfServer{}}

// enter counts a client, and reports that there are many now, once until all of them have left.
func (c *liveClients) enter(address string) (warn bool) {
	if address == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	here := c.at[address]
	if here == nil {
		here = &clientsOfServer{}
		c.at[address] = here
	}
	here.live++
	warn = here.live >= many && !here.told
	here.told = here.told || warn
	return warn
}

// leave counts a client no more.
func (c *liveClients) leave(address string) {
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
