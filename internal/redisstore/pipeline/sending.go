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
	cmds  []redis.Cmder // of the calls, in their order
	lone  sending       // by which the command is sent if there is one call, as mostly

	mu      sync.Mutex // guards all below; a cluster client writes to several nodes at a time
	written bool
	stayed  []*call // those of the calls that nobody had left when it was written, if it is void
	void    bool
}

// spent returns the memory for the next exchange. It is that of x, if x carried a lone call that was answered without
// an error: then go-redis does not look at it any more.
func (x *exchange) spent(failure error) *exchange {
	if failure != nil || len(x.calls) != 1 || x.stayed != nil {
		return new(exchange)
	}
	clear(x.lone.args)
	clear(x.cmds)
	x.lone = sending{args: x.lone.args[:0]}
	x.calls, x.cmds, x.written = nil, x.cmds[:0], false
	return x
}

// commands are what the calls send.
func (x *exchange) commands() []redis.Cmder {
	x.cmds = x.cmds[:0]
	for _, c := range x.calls {
		x.cmds = append(x.cmds, c.cmd)
	}
	return x.cmds
}

// requests are the contexts of the calls. A connection that is being made looks at them, perhaps for longer than the
// exchange lasts, so their memory is not used again.
func (x *exchange) requests() []context.Context {
	all := make([]context.Context, len(x.calls))
	for i, c := range x.calls {
		all[i] = c.ctx
	}
	return all
}

// sending returns the memory of a command that has so many arguments.
func (x *exchange) sending(args int) *sending {
	if len(x.calls) > 1 {
		return &sending{args: make([]any, 0, args)}
	}
	return &x.lone
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

// sends makes a command tell the exchange. The command is EVALSHA or EVAL: its first argument is the script.
func (x *exchange) sends(cmd redis.Cmder) redis.Cmder {
	own := cmd.Args()
	s := x.sending(len(own))
	s.Cmder, s.script = cmd, script{x: x, text: own[1].(string), full: own[0] == "eval"}
	s.args = append(s.args, own...)
	s.args[1] = &s.script
	return s
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
