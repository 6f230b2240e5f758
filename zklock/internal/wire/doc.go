// Package wire is the client's side of ZooKeeper's protocol, as much of it as locks need: fourteen requests, over a
// connection to which a session is attached.
//
//	connect              makes a session, or attaches one
//	auth                 says who this connection's client is
//	create, container    make nodes
//	delete, exists, getData, setData, getChildren2, getEphemerals, setWatches
//	multi of a check     changes nothing, and is agreed on by a majority
//	closeSession         ends a session with all of its nodes
//
// # One connection, one session
//
// A [Conn] is one TCP connection to which a session was attached. It never connects again. When it is lost it answers
// nothing more, and its owner decides what that means, and where to attach the session next ([Dialer.Attach]). So
// a request that was made under one session is never sent under another one, and the caller knows of each request on
// which connection it was, which is what settles an unanswered one: once a later connection is attached, and a write on
// that was agreed on, no request of an earlier connection is carried out any more.
//
// # Why it is safe
//
//   - The server answers in the order of the requests. The head of the queue must have the answer's number; another
//     number, like anything else that is not of the protocol, ends the connection. No answer is given to another
//     request.
//   - The numbers go on over all connections of a [Dialer]. A server takes a change that was agreed on for the one that
//     it waits for by session and number alone: with numbers that began anew on each connection, 3 of 200 requests were
//     answered with what had been answered to another one, of the connection before.
//   - A server that gives another session than was asked for is refused ([OtherSessionError]). ClickHouse Keeper does
//     so: it restores none.
//   - Every request ends with its context, and every connection with the one that ended it, also where a deadline of
//     the connection would do nothing: reading and writing are done by goroutines of their own, which closing it ends.
//   - What is decoded is bounded by what has been received. A length in a packet allocates nothing by itself.
//   - No request asks for the latest state that this client has seen (the handshake says 0): a caller writes first, and
//     reads after that on the same connection, so what it reads is no older. A server whose data were restored from a
//     backup would refuse for good a client that had seen more.
//
// # Why it is no library
//
// Measured with go-zookeeper/zk v1.0.4 (the last commit is of August 2024), servers 3.9.5:
//
//   - A server that stands still holds it in the handshake for 6.7 session times, though another one is well: with a
//     session of 3 s there was no answer in 25 s.
//   - A create that was asked for under one session was sent under the next one.
//   - Neither the time that the server grants a session can be read, nor when an answer to a ping came.
//   - No call takes a context; Close leaves a goroutine behind for 20 s; that a session has ended is told only when it
//     connects again.
//   - It connects again by itself. The lock's validity rests on when a session was attached, and on what was sent on
//     that connection: the library decides the one, and does not tell the other.
//
// Of the others, github.com/Shopify/zk takes contexts and is maintained, but the module proxy does not serve it, and
// github.com/facebookincubator/zk, of 2021, never attaches a session again.
package wire
