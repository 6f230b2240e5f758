// Package stamp reads a clock that all processes of a machine share, for tests that compare what several of them
// relied on at one moment. Go's own monotonic reading counts from the start of each process.
package stamp
