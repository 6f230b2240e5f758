package pipeline

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// exchange is what a worker sends together. It becomes written when go-redis writes the first of its commands to a
// connection: until then a caller that leaves knows that its call was not sent, however long the connection takes.
//
// If somebody has left by then, the exchange is void: in place of each command one is written that does nothing. So the
// connection, which took so long, is there for those that stayed, and their calls are sent again. To fail the write
// would end the connection.
type exchange struct {
	calls []*call
	lone  *lone // nil: it began with several calls

	mu      sync.Mutex // guards all below; a cluster client writes to several nodes at a time
	written bool
	stayed  []*call // those of the calls that nobody had left when it was written, if it is void
	void    bool
}

// lone is the memory of an exchange that carries one call, as most do.
type lone struct {
	cmd     [1]redis.Cmder
	request [1]context.Context
	sending sending
	used    bool    // sending is
	few     [12]any // where the arguments of sending are, if there are no more
}

// newExchange makes an exchange. With one call, that and all that it needs is one allocation.
func newExchange(calls []*call) *exchange {
	if len(calls) > 1 {
		return &exchange{calls: calls}
	}
	one := new(struct {
		exchange
		memory lone
	})
	one.calls, one.lone = calls, &one.memory
	return &one.exchange
}

// room returns empty slices for the commands of the exchange, and for the contexts of its calls. What an exchange left
// behind that had to be sent again is still looked at by a connection that is being made, so the memory of a lone call
// serves once: if somebody left that, nothing is sent again.
func (x *exchange) room() ([]redis.Cmder, []context.Context) {
	if m := x.lone; m != nil {
		return m.cmd[:0], m.request[:0]
	}
	n := len(x.calls)
	return make([]redis.Cmder, 0, n), make([]context.Context, 0, n)
}

// sending returns the memory of one that has so many arguments.
func (x *exchange) sending(args int) *sending {
	m := x.lone
	if m == nil || m.used {
		return &sending{args: make([]any, 0, args)}
	}
	m.used = true
	if args <= len(m.few) {
		m.sending.args = m.few[:0]
	}
	return &m.sending
}

// write notes that the exchange is being written, and reports whether it is void.
func (x *exchange) write() (void bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.written {
		return x.void
	}
	x.written = true
	for i, c := range x.calls {
		switch stays := c.state.CompareAndSwap(carried, sent); {
		case !stays && !x.void:
			x.stayed, x.void = append(x.stayed, x.calls[:i]...), true
		case stays && x.void:
			x.stayed = append(x.stayed, c)
		}
	}
	return x.void
}

// again reports that the exchange was void, and makes it ready for those that stayed.
func (x *exchange) again() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.void {
		return false
	}
	x.calls, x.void = x.stayed, false
	return true
}

// isVoid reports that nothing of what was written does anything.
func (x *exchange) isVoid() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.void
}

// sending is a command that tells its exchange when it is written. Its arguments are the command's own, but for the
// script: go-redis asks for the bytes of that as it writes them.
type sending struct {
	redis.Cmder
	args   []any
	script script
}

// sends makes a command tell the exchange. One that runs no script cannot, so the exchange counts as written before.
func (x *exchange) sends(cmd redis.Cmder) redis.Cmder {
	own := cmd.Args()
	if len(own) > 1 {
		text, ok := own[1].(string)
		if ok && (own[0] == "evalsha" || own[0] == "eval") {
			s := x.sending(len(own))
			s.Cmder, s.script = cmd, script{x: x, text: text, full: own[0] == "eval"}
			s.args = append(s.args, own...)
			s.args[1] = &s.script
			return s
		}
	}
	x.write()
	return cmd
}

// Args implements [redis.Cmder].
func (s *sending) Args() []any { return s.args }

// Clone implements [redis.Cmder].
func (s *sending) Clone() redis.Cmder { return &sending{Cmder: s.Cmder.Clone(), args: s.args} }

// script is the argument that says which script is to run.
type script struct {
	x    *exchange
	text string
	full bool // it is the text, and not the digest

	digest [40]byte // where the bytes of one are
}

// What is written in place of a script. To both the answer is that nothing was carried out.
const (
	noDigest = "0000000000000000000000000000000000000000"
	noScript = "return redis.error_reply('NOSCRIPT the caller has left')"
)

// MarshalBinary implements [encoding.BinaryMarshaler].
func (s *script) MarshalBinary() ([]byte, error) {
	switch void := s.x.write(); {
	case !void:
		return append(s.digest[:0], s.text...), nil
	case s.full:
		return []byte(noScript), nil
	}
	return []byte(noDigest), nil
}

// String implements [fmt.Stringer]: by that hooks know the script.
func (s *script) String() string { return s.text }
