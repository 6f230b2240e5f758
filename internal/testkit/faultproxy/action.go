package faultproxy

import (
	"sync"
	"time"
)

// Action is what happens to a request and its reply. The functions of this package that take an
// [Exchange] are actions; those that return an Action make one.
type Action func(*Exchange)

// Exchange is one request on its way, as actions see it.
type Exchange struct {
	conn    *conn
	rule    *Rule
	request Request
	raw     []byte
}

// forward sends the request to Redis. Redis's answer goes to reply, or to the client if reply is
// nil.
func (x *Exchange) forward(reply func(raw []byte)) {
	if reply == nil {
		reply = x.conn.deliver
	}
	x.conn.forward(x.request, x.raw, reply)
}

// Pass lets the request and its reply through. Use it for rules that exempt a request from later
// rules, or that only count.
func Pass(x *Exchange) {
	x.rule.fire()
	x.forward(nil)
}

// DropReply executes the request and loses its reply. The connection stays open, and the client
// receives nothing more on it, although later requests are still executed.
func DropReply(x *Exchange) {
	x.forward(func([]byte) {
		x.conn.mute()
		x.rule.fire()
	})
}

// CutAfter executes the request and cuts the connection instead of replying.
func CutAfter(x *Exchange) {
	x.forward(func([]byte) {
		x.conn.cut()
		x.rule.fire()
	})
}

// CutBefore cuts the connection instead of forwarding the request. Earlier requests on it are
// answered first.
func CutBefore(x *Exchange) {
	x.conn.deafen()
	x.conn.afterPending(func() {
		x.conn.cut()
		x.rule.fire()
	})
}

// DropRequest loses the request. The connection stays open, and nothing more gets through on it
// except the replies to earlier requests.
func DropRequest(x *Exchange) {
	x.conn.deafen()
	x.conn.afterPending(x.conn.mute)
	x.rule.fire()
}

// AnswerError answers with an error, such as "CROSSSLOT ...", instead of executing the request.
func AnswerError(text string) Action { return Answer([]byte("-" + text + "\r\n")) }

// Answer answers with bytes instead of executing the request, whatever they are.
func Answer(raw []byte) Action {
	return AnswerWith(func(write func(raw []byte) bool) { write(raw) })
}

// AnswerWith answers with all that answer writes, instead of executing the request. Write reports whether the client
// still takes it. For as long as answer runs, nothing else comes on the connection.
func AnswerWith(answer func(write func(raw []byte) bool)) Action {
	instead := newRequest([][]byte{[]byte("PING")}, 0, 0) // it keeps the reply's place among the others
	return func(x *Exchange) {
		x.conn.forward(instead, []byte("*1\r\n$4\r\nPING\r\n"), func([]byte) {
			fire := sync.OnceFunc(x.rule.fire)
			defer fire()
			answer(func(raw []byte) bool {
				defer fire()
				return x.conn.write(raw)
			})
		})
	}
}

// HoldRequest holds back the request, and later ones on its connection, until the gate opens;
// other connections go on. The request is executed even if the client has hung up meanwhile.
func HoldRequest(gate *Gate) Action {
	return func(x *Exchange) {
		x.rule.fire()
		if !x.conn.await(gate) {
			return
		}
		x.forward(func(raw []byte) {
			x.conn.deliver(raw)
			gate.arrived()
		})
	}
}

// HoldReply executes the request and holds back its reply, and later ones on its connection,
// until the gate opens.
func HoldReply(gate *Gate) Action {
	return func(x *Exchange) {
		x.forward(func(raw []byte) {
			x.rule.fire()
			if x.conn.await(gate) {
				x.conn.deliver(raw)
				gate.arrived()
			}
		})
	}
}

// Late loses the request as [DropRequest] does, and when the gate opens executes it after all,
// over a connection of its own. The reply is lost.
func Late(gate *Gate) Action {
	return func(x *Exchange) {
		x.conn.proxy.injectLater(gate, x.raw)
		DropRequest(x)
	}
}

// Duplicate sends the request twice in a row. The client gets the first reply, when Redis has answered both:
// a client that had it sooner could act on it between the copies, which is what [DuplicateLater] is for.
func Duplicate(x *Exchange) {
	var first []byte
	x.forward(func(raw []byte) { first = raw })
	x.forward(func([]byte) {
		x.rule.fire()
		x.conn.deliver(first)
	})
}

// DuplicateLater lets the request and its reply through, and when the gate opens executes the
// request once more, over a connection of its own. The second reply is lost.
func DuplicateLater(gate *Gate) Action {
	return func(x *Exchange) {
		x.conn.proxy.injectLater(gate, x.raw)
		x.forward(func(raw []byte) {
			x.rule.fire()
			x.conn.deliver(raw)
		})
	}
}

// Delay forwards the request d later, and thereby delays later ones on its connection.
func Delay(d time.Duration) Action {
	return func(x *Exchange) {
		x.rule.fire()
		if x.conn.sleep(d) {
			x.forward(nil)
		}
	}
}

// CutReplyAt executes the request, passes on the first n bytes of the reply, and cuts the
// connection.
func CutReplyAt(n int) Action {
	return func(x *Exchange) {
		x.forward(func(raw []byte) {
			x.conn.deliver(raw[:min(n, len(raw))])
			x.conn.cut()
			x.rule.fire()
		})
	}
}

// CutRequestAt forwards the first n bytes of the request and cuts the connection. Unless those
// are all of it, Redis never executes it.
func CutRequestAt(n int) Action {
	return func(x *Exchange) {
		x.conn.deafen()
		x.conn.afterPending(x.conn.mute) // an answer of Redis is not for the client
		x.conn.send(x.raw[:min(n, len(x.raw))])
		x.conn.afterPending(func() {
			x.conn.cut()
			x.rule.fire()
		})
	}
}
