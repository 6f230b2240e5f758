package simredis

import "time"

// Verdict says what happens to a request.
type Verdict int64

// The verdicts, besides those that [Delay] makes.
const (
	// Pass lets the request and its reply through.
	Pass Verdict = -iota
	// DropReply has the request carried out and loses its reply, and all that would follow on
	// the connection, which stays open.
	DropReply
	// DropRequest loses the request and all that follows on the connection, in both directions.
	DropRequest
	// Cut hangs up instead of carrying the request out.
	Cut
	// CutAfter has the request carried out and hangs up instead of replying.
	CutAfter
)

// Delay has the request carried out d later, and with it what follows on its connection, even if
// the client hangs up meanwhile.
func Delay(d time.Duration) Verdict { return Verdict(max(d, 0)) }

// Fault decides over a request: its connection's number, in the order of dialing, from 1, and
// its arguments, beginning with the command. It is called when the request's turn has come, by
// one connection's goroutine each.
type Fault func(conn int, args []string) Verdict
