package wire

import "fmt"

// Reply is the answer to one request.
type Reply struct {
	Zxid int64 // the change that this is the answer to, or the latest that the server knew
	Err  error // nil, or a [Code]
	body []byte
}

// Stat is what a server knows of a node.
type Stat struct {
	Czxid    int64 // the change that made the node
	Ctime    int64 // when, in milliseconds of the server's clock
	Version  int32 // of the data
	Owner    int64 // the session with which the node ends; 0: none
	Children int32
}

func (d *decoder) stat() (s Stat) {
	s.Czxid = d.long()
	d.long() // the change that was last
	s.Ctime = d.long()
	d.long() // when that was
	s.Version = d.int()
	d.int() // version of the children
	d.int() // version of the ACL
	s.Owner = d.long()
	d.int() // length of the data
	s.Children = d.int()
	d.long() // the last change of the children
	return s
}

func (r Reply) decode(what string, take func(d *decoder)) error {
	if r.Err != nil {
		return r.Err
	}
	d := decoder{left: r.body}
	take(&d)
	return d.end(what)
}

// Created is the path of a node that was made.
func (r Reply) Created() (path string, s Stat, err error) {
	err = r.decode("a node that was made", func(d *decoder) { path, s = d.string(), d.stat() })
	return path, s, err
}

// Stat is what the server knows of the node.
func (r Reply) Stat() (s Stat, err error) {
	err = r.decode("the state of a node", func(d *decoder) { s = d.stat() })
	return s, err
}

// Data is what the node has.
func (r Reply) Data() (data []byte, s Stat, err error) {
	err = r.decode("a node's data", func(d *decoder) { data, s = d.bytes(), d.stat() })
	return data, s, err
}

// Children are the names of the node's children.
func (r Reply) Children() (names []string, s Stat, err error) {
	err = r.decode("a node's children", func(d *decoder) { names, s = d.strings(), d.stat() })
	return names, s, err
}

// Paths are the paths of nodes.
func (r Reply) Paths() (all []string, err error) {
	err = r.decode("paths of nodes", func(d *decoder) { all = d.strings() })
	return all, err
}

// Agreed is nil if a majority has agreed on what [Agree] asks. A server that has not may answer without an error, and
// have that inside.
func (r Reply) Agreed() error {
	var op, code int32
	var end bool
	err := r.decode("a check", func(d *decoder) {
		op, end, code = d.int(), d.bool(), d.int()
		if op == opCheck {
			d.take(9) // which say that no more follow
		}
		if op != opCheck && !d.bad {
			d.left = nil
		}
	})
	switch {
	case err != nil:
		return err
	case op == opCheck && !end && code == 0:
		return nil
	case code != 0:
		return Code(code)
	}
	return fmt.Errorf("%w: a check", ErrNonsense)
}

// header is what every answer begins with.
type header struct {
	number int32
	zxid   int64
	code   Code
}

// The numbers of answers that are to no request.
const (
	numberEvent = -1
	numberPing  = -2
	numberAuth  = -4
)

func (d *decoder) header() header { return header{d.int(), d.long(), Code(d.int())} }

// eventDeleted is the kind of an event.
const eventDeleted = 2

// event takes the path of the node that has changed, and whether it was deleted.
func (d *decoder) event() (path string, deleted bool) {
	kind := d.int()
	d.int() // the state of the client's connection
	return d.string(), kind == eventDeleted
}
