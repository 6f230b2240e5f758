// Package stamp tells a time that all processes of a machine share, for tests that compare what several
// of them believed at one moment. Go's own monotonic reading counts from the start of each process.
package stamp
