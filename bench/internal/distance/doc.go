// Package distance puts a network between clients and servers of this machine: a relay that delivers every byte half
// a round trip after it came, in either direction.
//
// A relay does not serialise: it goes on reading while what it has read is under way, however much that is. All it
// does is done by one thread, with one epoll for all connections and a timer of the kernel, because timers of Go can
// be a millisecond late where nothing else happens. That thread's processor time is told, so that it can be left out
// of what a client has used; its buffers are made beforehand, so that it allocates next to nothing.
//
// What it cannot do: a connection is made at once, without the round trip that a handshake takes; bandwidth has no
// limit, and nothing is lost.
//
// It also counts. Every chunk carries how many round trips lie behind it, by Lamport's rule: one that a client sends
// has as many as the client has seen, one that a server sends has one more than what reached that server. So what
// clients have seen since a reset is how many round trips came one after the other, at any speed of the machine.
package distance
