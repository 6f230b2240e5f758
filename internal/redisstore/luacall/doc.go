// Package luacall makes the calls of the scripts of package lua, a function for each, and reads their answers.
//
// It keeps no state and no clock, and decides nothing: what a script does, and why a copy of it does no harm, is argued
// in package lua. Arguments are checked here before anything is sent, because a script has no way back after its first
// write. An answer that no script of ours gives is an error and never a zero: another program may have written at the
// key, or a proxy may have answered.
//
// go-redis makes no copies behind the caller's back: commands are marked so that it sends each only once. The caller
// sends again, and knows which attempt answered. The one exception is a server that does not know a script yet. It
// executed nothing then, and the script follows in full.
//
// [Bundles] combines acquisitions, or releases, of locks or of permits of a semaphore, that were about to be sent to
// one server at the same time, into one call ([Crossed] tells whether the server refused it for its keys). [Call] says
// what is sent instead where a server refuses a script of several keys, as a cluster does while a slot migrates.
//
// # Concurrency
//
// A Call is used by one goroutine at a time; different calls do not disturb one another.
package luacall
