// Package debuglocks serves a page for operators at /debug/locks: the locks that this process holds and waits for, and,
// where that is asked for, those in Redis, whoever holds them.
//
//	http.Handle("/debug/locks", debuglocks.Handler(client))
//
// The page refreshes itself. With Accept: application/json, or with ?format=json, it is JSON. With ?redis=order:* it
// also tells the locks in Redis whose names match the pattern, which walks the database as rlock.List does; without
// it Redis is not asked, so the page works while Redis does not.
//
// The page changes nothing. It tells names and hold ids, so serve it where you serve pprof, and not to everybody.
package debuglocks
