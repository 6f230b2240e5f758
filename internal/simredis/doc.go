// Package simredis is a Redis for testing/synctest bubbles: hours of leases, renewals and waits
// pass in virtual time, exactly, and in next to no real time.
//
// A real go-redis client talks over in-memory pipes to a miniredis that runs inside the bubble,
// so that everything between the two is what runs in production, save the network. Keys expire
// and TIME tells the time by the clock of the bubble. Tests that make a server outside a bubble
// get the same by the real clock.
//
//	synctest.Test(t, func(t *testing.T) {
//		server := simredis.New(t)
//		rdb := server.Client()
//		...
//		time.Sleep(10 * time.Hour)
//	})
//
// Requests can be lost, delayed and cut off one by one ([Server.SetFault]), and the server can be
// frozen as if by SIGSTOP ([Server.Freeze]). As on a network, what a client sent is carried out
// even if the client has hung up meanwhile, and nothing waits for a client that does not read:
// with miniredis alone a subscriber that pauses would stop the server, with its lock held, and
// thereby the clock of the bubble.
//
// # Where it differs from Redis
//
// There are no memory limits, replicas, clusters, sharded pub/sub, MONITOR and INFO. A key is gone
// at the millisecond of its expiry, not one later. Lua writes large numbers in full where Redis
// writes 1.79e+15, knows no script flags ("#!lua"), and an error that a script does not catch
// reaches the client as "ERR Error compiling script", with the real one inside. A subscribed
// connection takes no other commands in RESP3 either. A dead connection is noticed when it is
// used, since go-redis can look into sockets only. Scripts have to be tested on a real server
// too.
package simredis
