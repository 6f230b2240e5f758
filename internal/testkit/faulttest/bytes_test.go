package faulttest_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

// bytesCuts are the two directions in which a connection is cut at one byte.
var bytesCuts = map[string]struct {
	at    func(n int) faultproxy.Action
	reply bool
}{
	"request": {faultproxy.CutRequestAt, false},
	"reply":   {faultproxy.CutReplyAt, true},
}

// bytesLimit is more than any request or reply here has.
const bytesLimit = 2000

// G3, need 1: the connection is cut at every single byte of a request, from none of it to all of it, and at every
// byte of its reply. What was begun is done once, with one token and one level, and nothing is left.
func TestACutAtEveryByteTakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, op := range onceOps {
		if op.name == "renew" {
			continue // see below: it comes when it is due
		}
		for direction, cut := range bytesCuts {
			if op.script == "levels" && cut.reply {
				continue // a count without an answer need not be sent again: the next one is another
			}
			t.Run(op.name+"/"+direction, func(t *testing.T) {
				t.Parallel()
				b := bytesLab{newOnceLab(t), op}
				step := 1
				if op.name == "export" && !cut.reply {
					step = 16 // it waits each time until no copy can come, and an import sends the same script
				}
				b.every(step, cut.reply, func(n int) (length int, again bool) { return b.cut(cut.at(n)) })
				b.nothingLeft()
			})
		}
	}
}

// every cuts at one byte after another, or at every step-th: a request has a known length, and a reply's end is where
// nothing has to be sent again.
func (b bytesLab) every(step int, reply bool, cut func(n int) (length int, again bool)) {
	b.Helper()
	for n := 0; n < bytesLimit; n += step {
		length, again := cut(n)
		if !reply && n+step > length || reply && !again {
			require.Greater(b, n, 3, "there was nothing to cut")
			b.Logf("%d bytes", n)
			return
		}
	}
	b.Fatal("it has no end")
}

// Need 1: the same for renewals. Many clients wait for theirs at the same time, and each has it cut at another byte.
func TestACutAtEveryByteOfARenewal(t *testing.T) {
	t.Parallel()
	for direction, cut := range bytesCuts {
		t.Run(direction, func(t *testing.T) { // one after the other: the clients are many
			labs := make([]bytesLab, 24)
			for i := range labs {
				labs[i] = bytesLab{newOnceLab(t), onceOp{name: "renew", script: "renew"}}
			}
			for first, done := 0, false; !done; first += len(labs) {
				require.Less(t, first, bytesLimit, "it has no end")
				renewals := make([]bytesRenewal, len(labs))
				for i, b := range labs {
					renewals[i] = b.begin(cut.at(first + i))
				}
				for i, r := range renewals {
					length, again := r.end()
					done = done || !cut.reply && first+i >= length || cut.reply && !again
				}
			}
			for _, b := range labs {
				b.nothingLeft()
			}
		})
	}
}

// bytesLab runs one operation after another.
type bytesLab struct {
	*onceLab
	op onceOp
}

// cut runs the operation with one cut, and returns how long the request was and whether it was sent again.
func (b bytesLab) cut(action faultproxy.Action) (length int, again bool) {
	b.Helper()
	var s *bytesShot
	h, _ := b.op.run(b.onceLab, func() *onceShot {
		s = b.shoot(action)
		return &s.onceShot
	})
	sent := b.sent(s)
	if b.op.name == "import" || b.op.name == "export" {
		sent-- // a second import was tried there, and refused
	}
	if b.op.held {
		b.stands(h, 1)
		require.NoError(b, h.unlock())
	}
	b.free(false)
	return int(s.length.Load()), sent > 1
}

// bytesShot is a cut that is set up, and the length of the request that it hit.
type bytesShot struct {
	onceShot
	before int // requests
	length atomic.Int64
}

func (b bytesLab) shoot(action faultproxy.Action) *bytesShot {
	script := faultproxy.Script(luacall.SHA(b.op.script))
	s := &bytesShot{before: b.proxy.Requests(script)}
	s.onceShot = onceShot{fault: onceFault{times: 1}, rule: b.proxy.On(func(r faultproxy.Request) bool {
		if !script(r) {
			return false
		}
		s.length.Store(int64(bytesOf(r.Args)))
		return true
	}, action)}
	return s
}

// sent is how often the request was sent since.
func (b bytesLab) sent(s *bytesShot) int {
	return b.proxy.Requests(faultproxy.Script(luacall.SHA(b.op.script))) - s.before
}

// bytesRenewal is a hold whose next renewal is cut.
type bytesRenewal struct {
	bytesLab
	hold    onceHold
	shot    *bytesShot
	renewed int // before
}

func (b bytesLab) begin(action faultproxy.Action) bytesRenewal {
	b.Helper()
	r := bytesRenewal{bytesLab: b, hold: b.take(b.lock)}
	r.shot = b.shoot(action)
	b.note(func() { r.renewed = b.renewed })
	return r
}

func (r bytesRenewal) end() (length int, again bool) {
	r.Helper()
	r.shot.struck(r)
	r.until(func() bool { return r.bytesLab.renewed > r.renewed }, "it is renewed")
	sent := r.sent(r.shot)
	r.stands(r.hold, 1)
	require.NoError(r, r.hold.unlock())
	r.free(false)
	return int(r.shot.length.Load()), sent > 1
}

// bytesOf is the length of a request on the wire.
func bytesOf(args [][]byte) int {
	n := len("*\r\n") + len(strconv.Itoa(len(args)))
	for _, arg := range args {
		n += len("$\r\n\r\n") + len(strconv.Itoa(len(arg))) + len(arg)
	}
	return n
}
