package faultproxy

import (
	"slices"
	"strings"
)

// expectation is a forwarded request that is not answered yet.
type expectation struct {
	command string
	args    []string // of HELLO, SUBSCRIBE and related commands
	left    int      // answers to come, 0 while that depends on earlier answers
	reply   func(raw []byte)
	after   []func() // to be called when the last answer has passed
}

// replies matches a connection's replies to its requests. Its owner guards it.
type replies struct {
	pending    []*expectation
	resp3      bool
	subscribed map[string]map[string]bool // channels by the command that subscribes
}

func newReplies() replies {
	return replies{subscribed: map[string]map[string]bool{
		"subscribe": {}, "psubscribe": {}, "ssubscribe": {},
	}}
}

// subscription splits the name of a command that changes subscriptions: the command that
// subscribes, and whether it is the opposite of it.
func subscription(command string) (subscribe string, undo, ok bool) {
	switch command {
	case "subscribe", "psubscribe", "ssubscribe":
		return command, false, true
	case "unsubscribe", "punsubscribe", "sunsubscribe":
		return strings.Replace(command, "un", "", 1), true, true
	}
	return "", false, false
}

func (p *replies) expect(request Request, reply func([]byte)) {
	e := &expectation{command: request.Command(), reply: reply, left: 1}
	if e.command == "hello" && len(request.Args) > 1 {
		e.args = []string{string(request.Args[1])}
	}
	if _, _, ok := subscription(e.command); ok {
		for _, channel := range request.Args[1:] {
			e.args = append(e.args, string(channel))
		}
		e.left = len(e.args)
	}
	p.pending = append(p.pending, e)
}

// claim finds the request that v answers, nil if it answers none, and whether it is the last
// answer to it. The request stays pending until complete is called.
func (p *replies) claim(v *value) (e *expectation, last bool) {
	word := v.word()
	if subscribe, undo, ok := subscription(word); ok && p.outOfBand(v, word) {
		return p.confirm(v, word, subscribe, undo)
	}
	if v.kind == '>' || p.isMessage(v) || len(p.pending) == 0 {
		return nil, false
	}
	e = p.pending[0]
	if e.command == "hello" && v.kind != '-' && len(e.args) > 0 {
		p.resp3 = e.args[0] == "3"
	}
	if e.command == "reset" && v.kind != '-' {
		*p = replies{pending: p.pending, subscribed: newReplies().subscribed}
	}
	// A subscribing command gets no answer in order except an error, which is its only one.
	return e, true
}

// complete ends the first pending request and returns the functions that waited for that.
func (p *replies) complete() (after []func()) {
	after = p.pending[0].after
	p.pending = p.pending[1:]
	return after
}

// outOfBand reports whether v can be a confirmation of the kind named by word, rather than an
// array that happens to begin with that word.
func (p *replies) outOfBand(v *value, word string) bool {
	if v.kind == '>' {
		return true
	}
	return !p.resp3 && (p.listening() || len(p.pending) > 0 && p.pending[0].command == word)
}

func (p *replies) confirm(v *value, word, subscribe string, undo bool) (*expectation, bool) {
	channel := string(v.words[1])
	var e *expectation
	if len(p.pending) > 0 && p.pending[0].command == word {
		e = p.pending[0]
		if e.left == 0 { // unsubscribe from all: one answer for each channel, or one for none
			e.left = max(1, len(p.subscribed[subscribe]))
		}
		if len(e.args) > 0 && !slices.Contains(e.args, channel) {
			e = nil
		}
	}
	if undo {
		delete(p.subscribed[subscribe], channel)
	} else {
		p.subscribed[subscribe][channel] = true
	}
	if e == nil { // a server that gives a slot away ends its subscriptions unasked
		return nil, false
	}
	e.left--
	return e, e.left == 0
}

// isMessage reports whether v is a published message.
func (p *replies) isMessage(v *value) bool {
	switch v.word() {
	case "message", "pmessage", "smessage":
		return v.kind == '>' || !p.resp3 && p.listening()
	}
	return false
}

// listening reports whether the connection is subscribed to anything.
func (p *replies) listening() bool {
	for _, channels := range p.subscribed {
		if len(channels) > 0 {
			return true
		}
	}
	return false
}

// subscribing reports whether a request to subscribe was forwarded and not answered yet: the
// server may have executed it, and others see that before its answer passes here.
func (p *replies) subscribing() bool {
	return slices.ContainsFunc(p.pending, func(e *expectation) bool {
		_, undo, ok := subscription(e.command)
		return ok && !undo
	})
}

// whenIdle calls f when all pending requests have been answered. If none is pending it returns
// true, and the caller must act itself.
func (p *replies) whenIdle(f func()) (now bool) {
	if len(p.pending) == 0 {
		return true
	}
	e := p.pending[len(p.pending)-1]
	e.after = append(e.after, f)
	return false
}
