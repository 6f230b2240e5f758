//go:build !race

package watchdog

const million = 1_000_000
