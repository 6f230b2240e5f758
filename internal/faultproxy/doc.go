// Package faultproxy puts a TCP proxy in front of one Redis server and lets tests decide what
// happens to single requests and replies.
//
// The proxy speaks RESP2 and RESP3 well enough to know where requests and replies begin and end,
// and which reply answers which request. That is what a proxy of bytes cannot do, and what the
// interesting faults need: the request that took effect while its reply was lost, the request
// that arrives twice, or long after the client gave up.
//
// A [Rule] says which requests are meant and what happens to them:
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
// TCP delivers in order, and so does the proxy: a request or reply that is held back holds back
// what follows on its connection, and where one is lost, nothing follows in its direction. Other
// connections go on, which is how requests overtake one another. What a client sent is carried
// out even if the client hangs up, as long as it was forwarded.
//
// # What belongs together
//
// Replies answer requests in order. Pushes and pub/sub messages answer none. The confirmations
// of SUBSCRIBE and its kin, which are pushes in RESP3, answer that command, one for each channel.
// CLIENT REPLY, subscribing inside MULTI, and the streamed types of RESP3, which no Redis sends,
// are not understood.
package faultproxy
