// Package pgproxy puts a TCP proxy in front of one PostgreSQL and lets tests decide the fate of single requests and
// answers, as package faultproxy does for Redis.
//
// A request is what a client sends up to a Sync, or as one simple Query: a pipeline of statements is one. Its answer is
// what the server sends up to ReadyForQuery. A [Rule] selects requests by a part of their text:
//
//	p := pgproxy.Start(t, server.Addr())
//	lost := p.On("FOR UPDATE SKIP LOCKED", pgproxy.CutAfter)
//	... // a client that connects to p.To(database) takes a lock
//	lost.Wait(t, 1) // by now the request was carried out, and nobody was told
//
// Besides the rules there are switches for the whole proxy: [Proxy.Blackhole], [Proxy.Refuse], [Proxy.CutAll].
//
// TCP delivers in order, and so does the proxy: a request that is held back also holds back later ones on its
// connection. It is carried out when its gate opens, even if the client has hung up meanwhile. The proxy reads no TLS.
package pgproxy
