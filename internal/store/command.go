package store

import "time"

// Command is one script that was sent to a server, and what became of it.
type Command struct {
	Script string        // its name
	Calls  int           // that were sent together, itself included
	Took   time.Duration // from sending to the answer, or until there could be none
	Err    error         // the server's, or that of the connection
}
