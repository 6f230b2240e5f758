// Package faultproxy puts a TCP proxy in front of one Redis server and lets tests decide the fate
// of single requests and replies.
//
// The proxy understands RESP2 and RESP3 well enough to know where requests and replies begin and
// end, and which reply answers which request. A proxy of bytes cannot do that, and the
// interesting faults need it: a request that took effect while its reply was lost, a request that
// arrives twice, or long after the client gave up.
//
// A [Rule] selects requests and says what happens to them:
//
//	p := faultproxy.Start(t, server.Addr())
//	lost := p.On(faultproxy.AnyScript, faultproxy.DropReply)
//	... // a client that dials p.Addr() runs a script
//	lost.Wait(t, 1) // by now the script was carried out, and nobody was told
//
// Besides the rules there are switches for the whole proxy, such as [Proxy.Blackhole].
//
// # What is kept in order
//
// TCP delivers in order, and so does the proxy: a request or reply that is held back also holds
// back later ones on its connection, and after a lost one nothing follows in its direction. Other
// connections go on, so requests can overtake one another. A forwarded request is executed even
// if the client hangs up.
//
// # What belongs together
//
// Replies answer requests in order. Pushes and pub/sub messages answer none. The confirmations of
// SUBSCRIBE and related commands, which are pushes in RESP3, answer the command, one for each
// channel. The proxy does not understand CLIENT REPLY, subscribing inside MULTI, and the streamed
// types of RESP3, which no Redis sends.
package faultproxy
