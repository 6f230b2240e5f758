// Package numbers is package conformance for what is counted, on Redis: latches, counting semaphores, and permits, each
// of which it makes a lock.
package numbers
