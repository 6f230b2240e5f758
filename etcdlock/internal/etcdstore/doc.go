// Package etcdstore keeps locks in etcd: it implements [store.Store] for package etcdlock, whose documentation argues
// why that is safe.
//
// A request is one transaction (lock.go). An acquisition also sends a keep-alive beside it, which proves the lease, and
// makes a base of tokens after it if there is none. If one of these fails, the key may stand, whatever
// the error says of its own request: the acquisition is in doubt, or takes its key away.
//
// Everything that a client has hangs on its session, which is one lease of etcd's (session.go), and a key of a name is
// used by one id after the other (place.go); what was sent for an id that was given up is refused by a seal under that
// lease (seal.go). A request that has no answer is sent by another connection (routes.go). A release by another process
// is seen by a watch (hub.go), and so is the end of a hold (held.go): all watches are on one stream (watcher.go), and
// all keep-alives on another (pulse.go). An etcd that went on from a snapshot is noticed (replaced.go), and keys that
// came back with it are deleted (strange.go). Tokens are counted from a base (base.go). What an error says of its
// request is decided in fault.go.
package etcdstore
