// Package simredis is a Redis for testing/synctest bubbles: hours of leases, renewals and waits
// pass in virtual time, exactly, and in almost no real time.
//
// A real go-redis client talks over in-memory pipes to a miniredis that runs inside the bubble,
// so everything except the network is the code that runs in production. Keys expire by the clock
// of the bubble, and TIME returns it. A server made outside a bubble uses the real clock.
//
//	synctest.Test(t, func(t *testing.T) {
//		server := simredis.New(t)
//		rdb := server.Client()
//		...
//		time.Sleep(10 * time.Hour)
//	})
//
// Requests can be lost, delayed and cut off one by one ([Server.SetFault]), and the server can be
// frozen as if by SIGSTOP ([Server.Freeze]). As on a network, a sent request is executed even if
// the client has hung up meanwhile, and nothing waits for a client that does not read: with
// miniredis alone a subscriber that pauses would stop the server, with its lock held, and thereby
// the clock of the bubble.
//
// # Where it differs from Redis
//
// There are no memory limits, replicas, clusters, sharded pub/sub, MONITOR and INFO. A key
// disappears exactly at the millisecond of its expiry. Lua writes large numbers in full where
// Redis writes 1.79e+15, knows no script flags ("#!lua"), and an error that a script does not
// catch reaches the client as "ERR Error compiling script", with the real one inside. A
// subscribed connection accepts no other commands, even in RESP3. A dead connection is noticed
// only when it is used, because go-redis can check only sockets. Scripts must be tested on a real
// server too.
package simredis
