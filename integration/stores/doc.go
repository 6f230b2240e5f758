// Package stores compares what the same fault costs on each store: its test prints how long the next holder waits when
// a process dies that holds a lock. docs/choosing.md has the figures.
package stores
