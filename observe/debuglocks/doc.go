// Package debuglocks serves a page for operators at /debug/locks: the locks that this process holds, waits for, and
// keeps without holding them, and, where that is asked for, those of all clients in Redis.
//
//	http.Handle("/debug/locks", debuglocks.Handler(client))
//
// The page refreshes itself, keeps meanwhile what is typed or selected, and says so when it gets no answer. It is JSON
// with Accept: application/json, or with ?format=json. With ?redis=order:* it also tells the locks in Redis whose names
// match the pattern, which walks the database as operate.List does. Without it Redis is not asked, so the page works
// while Redis does not.
//
// The page changes nothing. It tells names and hold ids, so serve it where you serve pprof, and not to everybody.
package debuglocks
