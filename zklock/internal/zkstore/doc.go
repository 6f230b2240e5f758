// Package zkstore keeps locks in ZooKeeper: it implements [store.Store] for package zklock, whose documentation argues
// why that is safe.
//
// Everything that a client has hangs on its session (session.go), of which there are several where the paths of its
// nodes are too many for one (place.go). A session is renewed by attaching it to a server anew, which also settles what
// became of requests without an answer, and finds nodes that are nobody's (attach.go).
//
// A lock is a node (names.go), and each that wants it has a node below that, in the order in which they came
// (contender.go, acquire.go). A waiter watches the node before its own (hub.go), and a holder its own one (held.go).
// Tokens are counted from a base (base.go). What an error says of its request is decided in fault.go.
package zkstore
