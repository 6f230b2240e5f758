//go:build race

package watchdog

// The race detector keeps several words for each word of memory.
const million = 100_000
