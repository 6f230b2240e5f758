// Package faulttest has tests of what rlock does when something fails that is not its own: a request or a reply that is
// lost, late, doubled or cut at any byte, a message that does not come, a server that stands still, a process that is
// killed or stopped. They wait for most of their time, which is why they are not among rlock's own.
package faulttest
