// Package mutants tests the tests: it breaks the locks in ways that are known to be dangerous, one at a time, and
// requires that a test named in advance fails.
//
// Nothing in the tree is changed. A mutant is built with the go command's overlay, which replaces a file for one
// build, embedded scripts and statements included.
package mutants
