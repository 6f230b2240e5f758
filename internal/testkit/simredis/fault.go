package simredis

import "time"

// Verdict says what happens to a request.
type Verdict int64

// The verdicts, besides those that [Delay] makes.
const (
	// Pass lets the request and its reply through.
	Pass Verdict = -iota
	// DropReply executes the request and loses its reply, and all later ones on the connection, which stays open.
	DropReply
	// DropRequest loses the request and everything after it on the connection, in both directions.
	DropRequest
	// Cut hangs up instead of executing the request.
	Cut
	// CutAfter executes the request and hangs up instead of replying.
	CutAfter
)

// Delay executes the request d later, and thereby delays later ones on its connection, even if the client hangs up
// meanwhile.
func Delay(d time.Duration) Verdict { return Verdict(max(d, 0)) }

// Fault decides about a request: its connection's number, in the order of dialling, from 1, and its arguments,
// beginning with the command. It is called when the request is about to be executed, by each connection's own
// goroutine.
type Fault func(conn int, args []string) Verdict
