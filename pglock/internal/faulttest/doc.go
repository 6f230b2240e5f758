// Package faulttest tests what package pglock does when servers fail over, with thousands of holds, and in processes
// that are killed: tests that take minutes. Those that take seconds are beside package pglock itself.
package faulttest
