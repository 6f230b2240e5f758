package links

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// watchFor is how long an exchange polls for its reply: a local round trip with a script in it, and some to spare.
const watchFor = 80 * time.Microsecond

// restMost bounds how many exchanges in a row do not poll because others did so in vain.
const restMost = 1<<10 - 1

// watch polls for replies, so that a server nearby need not wake a goroutine. One goroutine at a time uses it: the
// one that reads from the connection.
//
// An example: a server across a network, with a round trip of 1 ms. The first exchange polls for 80 µs, sleeps,
// and the next one does not poll. The third polls in vain again, and the next three do not. After ten such
// attempts one exchange in 1,024 polls, which costs 0.08 µs per exchange. If the server becomes fast, for
// instance after a failover to this machine, the first poll that succeeds resets rest, and every exchange polls
// again.
//
// Only an exchange that is alone polls. With two under way, each would take the processor from the goroutine
// that the other's reply is for; and a client that busy finds its next reply without sleeping anyway. Such an
// exchange leaves rest as it is, because it says nothing about the server's distance.
type watch struct {
	socket  syscall.RawConn
	waiting *atomic.Int32 // exchanges of all connections that wait for replies

	look func(fd uintptr) bool
	into []byte
	n    int // of the last look, as err is
	err  error

	rest int // exchanges that do not poll after the next one in vain
	left int // of those, how many are left
}

func newWatch(socket syscall.RawConn, waiting *atomic.Int32) *watch {
	w := &watch{socket: socket, waiting: waiting}
	w.look = func(fd uintptr) bool {
		w.n, w.err = readNow(fd, w.into)
		return true // whatever there is: do not wait for it
	}
	return w
}

// read is conn.Read for the beginning of a reply.
//
// waiting counts this exchange until its reply has begun, whether it polls or sleeps. So two exchanges that
// start at the same time see each other, and at the latest after one look neither polls.
func (w *watch) read(conn net.Conn, p []byte) (int, error) {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	switch n, err := w.reply(p); {
	case n > 0:
		return n, nil
	case err != nil:
		return 0, &net.OpError{
			Op: "read", Net: conn.LocalAddr().Network(), Source: conn.LocalAddr(), Addr: conn.RemoteAddr(),
			Err: os.NewSyscallError("read", err), // a socket reports its error only once
		}
	}
	return conn.Read(p)
}

// reply returns 0 and no error if nothing arrived in time, or nothing will.
//
// The deadline of the connection is not forgotten meanwhile: RawConn.Read fails once it has passed, or once the
// connection is closed, so an exchange that is left stops polling at once.
func (w *watch) reply(p []byte) (int, error) {
	if w.left > 0 {
		w.left--
		return 0, nil
	}
	w.into = p
	defer func() { w.into = nil }()
	for began := time.Now(); ; {
		if err := w.socket.Read(w.look); err != nil {
			return 0, nil // it has ended: conn.Read says why
		}
		switch {
		case w.err == nil:
			w.rest = 0
			return w.n, nil
		case !errors.Is(w.err, syscall.EAGAIN) && !errors.Is(w.err, syscall.EINTR):
			return 0, w.err
		case w.waiting.Load() > 1:
			return 0, nil
		case time.Since(began) >= watchFor:
			w.rest = min(2*w.rest+1, restMost)
			w.left = w.rest
			return 0, nil
		}
		runtime.Gosched() // other goroutines go first
	}
}
