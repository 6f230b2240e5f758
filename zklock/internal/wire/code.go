package wire

import "strconv"

// Code is an error with which a server answers a request.
type Code int32

// The codes that mean something to a caller.
const (
	MarshallingError Code = -5
	Unimplemented    Code = -6 // the server is too old for the request
	BadArguments     Code = -8 // a path that it does not accept, for instance
	NoNode           Code = -101
	NoAuth           Code = -102
	BadVersion       Code = -103
	NodeExists       Code = -110
	NotEmpty         Code = -111
	SessionExpired   Code = -112
	InvalidACL       Code = -114
	AuthFailed       Code = -115
	SessionMoved     Code = -118 // it is attached to another server
	QuotaExceeded    Code = -125
	Throttled        Code = -127
)

var texts = map[Code]string{
	MarshallingError: "the server cannot read the request",
	Unimplemented:    "the server does not know the request",
	BadArguments:     "the server does not accept the arguments",
	NoNode:           "there is no such node",
	NoAuth:           "the ACL does not allow it",
	BadVersion:       "the node has another version",
	NodeExists:       "the node is there already",
	NotEmpty:         "the node has children",
	SessionExpired:   "the session has expired",
	InvalidACL:       "the ACL is not valid",
	AuthFailed:       "authentication failed",
	SessionMoved:     "the session is attached to another server",
	QuotaExceeded:    "a quota is exceeded",
	Throttled:        "the server has too many requests",
}

// Error implements error.
func (c Code) Error() string {
	number := " (ZooKeeper error " + strconv.Itoa(int(c)) + ")"
	if text := texts[c]; text != "" {
		return text + number
	}
	return "the server refused the request" + number
}
