package wire

import "math"

// The numbers of the requests.
const (
	opDelete        = 2
	opExists        = 3
	opGetData       = 4
	opSetData       = 5
	opGetChildren2  = 12
	opCheck         = 13
	opMulti         = 14
	opCreate2       = 15
	opContainer     = 19
	opAuth          = 100
	opSetWatches    = 101
	opGetEphemerals = 103
	opCloseSession  = -11
)

// Flags of a node that is made.
const (
	flagEphemeralSequential = 3
	flagContainer           = 4
)

// AnyVersion is the version of a change that does not depend on the node's.
const AnyVersion = -1

// Request is one request without its number. It is constant.
type Request struct {
	op   int32
	body []byte
}

// ACL allows something to somebody.
type ACL struct {
	Perms      int32
	Scheme, ID string
}

// All is every permission.
const All int32 = 31

// Auth is what a connection's client says of itself, such as "digest" and "user:password".
type Auth struct{ Scheme, Secret string }

func create(op int32, path string, data []byte, acls []ACL, flags int32) Request {
	var e encoder
	e.string(path)
	e.bytes(data)
	e.acls(acls)
	e.int(flags)
	return Request{op, e}
}

// Stand makes a node that ends with the session, and whose name has a number of ten digits behind prefix that grows
// with each node that is made below its parent. The answer is of the kind [Reply.Created].
func Stand(prefix string, data []byte, acls []ACL) Request {
	return create(opCreate2, prefix, data, acls, flagEphemeralSequential)
}

// Create makes a node that stays. The answer is of the kind [Reply.Created].
func Create(path string, data []byte, acls []ACL) Request {
	return create(opCreate2, path, data, acls, 0)
}

// Container makes a node that the servers delete some time after its last child. The answer is of the kind
// [Reply.Created].
func Container(path string, acls []ACL) Request {
	return create(opContainer, path, nil, acls, flagContainer)
}

func versioned(op int32, path string, version int32) Request {
	var e encoder
	e.string(path)
	e.int(version)
	return Request{op, e}
}

// Delete deletes a node that has no children.
func Delete(path string) Request { return versioned(opDelete, path, AnyVersion) }

func look(op int32, path string, watch bool) Request {
	var e encoder
	e.string(path)
	e.bool(watch)
	return Request{op, e}
}

// Exists looks whether a node is there. The answer is of the kind [Reply.Stat]. With watch the connection is told of
// the node's next change, once.
func Exists(path string, watch bool) Request { return look(opExists, path, watch) }

// Watch has the connection be told when one of some nodes is deleted, and of those that are not there at once. They
// must not have children, which would be told as well. The answer has nothing.
func Watch(paths []string) Request {
	var e encoder
	e.long(math.MaxInt64) // what happened to their children before is not told
	e.int(0)              // no watches of data
	e.int(0)              // nor of existence
	e.int(int32(len(paths)))
	for _, path := range paths {
		e.string(path)
	}
	return Request{opSetWatches, e}
}

// Get reads a node. The answer is of the kind [Reply.Data].
func Get(path string) Request { return look(opGetData, path, false) }

// GetWatched is [Get], and has the connection be told of the next change of the node, once, if that is there.
func GetWatched(path string) Request { return look(opGetData, path, true) }

// Children reads the names of a node's children, in no order. The answer is of the kind [Reply.Children].
func Children(path string) Request { return look(opGetChildren2, path, false) }

// Set writes the data of a node that has a version. The answer is of the kind [Reply.Stat].
func Set(path string, data []byte, version int32) Request {
	var e encoder
	e.string(path)
	e.bytes(data)
	e.int(version)
	return Request{opSetData, e}
}

// Agree changes nothing, needs no permission, and is agreed on by a majority. The answer is of the kind [Reply.Agreed].
func Agree() Request {
	var e encoder
	e.int(opCheck)
	e.bool(false)
	e.int(-1)
	e = append(e, versioned(opCheck, "/", AnyVersion).body...)
	e.int(-1)
	e.bool(true)
	e.int(-1)
	return Request{opMulti, e}
}

// Ephemerals reads the paths of all nodes that end with the session. The answer is of the kind [Reply.Paths].
func Ephemerals() Request {
	var e encoder
	e.string("/")
	return Request{opGetEphemerals, e}
}

// CloseSession ends the session, and with it its nodes.
func CloseSession() Request { return Request{op: opCloseSession} }

func (a Auth) request() Request {
	var e encoder
	e.int(0)
	e.string(a.Scheme)
	e.string(a.Secret)
	return Request{opAuth, e}
}

// append appends the request with its number as a packet.
func (r Request) append(e *encoder, number int32) {
	e.packet(func(e *encoder) {
		e.int(number)
		e.int(r.op)
		*e = append(*e, r.body...)
	})
}
