package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Grant is what a message tells that names a waiter of this client: a release has given it the lock, until a time of
// the server's. It is that waiter's alone.
type Grant struct {
	ID        string // the waiter's
	Fence     int64  // its token
	Spare     int64  // how many numbers right below the token are the hold's too
	Next      int64  // up to this ticket those that stand next are this client's; 0: not even the first
	Made, End int64  // time of the server's in µs
	Server    string // which one
}

// ParseGrant reads a message. It reports false for one that only says that there may be something to ask for.
func ParseGrant(message string) (g Grant, ok bool) {
	parts := strings.Split(message, " ")
	if len(parts) != 8 || parts[0] != "1" {
		return Grant{}, false
	}
	g.ID, g.Server = parts[1], parts[7]
	for i, n := range []*int64{&g.Fence, &g.Spare, &g.Next, &g.Made, &g.End} {
		var err error
		if *n, err = strconv.ParseInt(parts[2+i], 10, 64); err != nil || *n < 0 {
			return Grant{}, false
		}
	}
	return g, g.ID != "" && g.Server != "" && g.Fence > g.Spare && g.Spare <= maxSpare && g.End > g.Made
}

// maxSpare is more than any release grants to spare.
const maxSpare = 1 << 14

// Message is what ParseGrant reads.
func (g Grant) Message() string {
	return fmt.Sprintf("1 %s %d %d %d %d %d %s", g.ID, g.Fence, g.Spare, g.Next, g.Made, g.End, g.Server)
}

// ConfirmReply is the answer to a request that makes a grant a hold like any other.
type ConfirmReply struct {
	Status Status // Done or Gone
	Next   int64  // as in Grant, as of now
	Now    int64  // server time in µs
}
