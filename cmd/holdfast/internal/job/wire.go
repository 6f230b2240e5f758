//go:build unix && !aix

package job

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// A message is what holdfast and its supervisor tell one another.
type message struct {
	kind  kind
	value int64
}

type kind byte

const (
	until   kind = 'u' // to the supervisor: the hold is valid until this instant
	pass    kind = 's' // to the supervisor: pass this signal on
	over    kind = 'o' // to the supervisor: the hold is over
	stopped kind = 't' // from the supervisor: the command was stopped by the terminal; 1 if it had the foreground
	ended   kind = 'e' // from the supervisor: nothing is left; a packed ending
)

// wire is one end of the socket between the two.
type wire struct{ file *os.File }

const messageSize = 9

// sendLimit bounds a send. The socket takes thousands of messages, so it is full only if nobody has read for long.
const sendLimit = time.Second

func (w wire) send(m message) error {
	var buffer [messageSize]byte
	buffer[0] = byte(m.kind)
	binary.BigEndian.PutUint64(buffer[1:], uint64(m.value))
	if err := w.file.SetWriteDeadline(time.Now().Add(sendLimit)); err != nil {
		return err
	}
	_, err := w.file.Write(buffer[:])
	return err
}

// receive waits for the next message. The error is io.EOF if the other process is dead.
func (w wire) receive() (message, error) {
	var buffer [messageSize]byte
	_, err := io.ReadFull(w.file, buffer[:])
	if errors.Is(err, syscall.ECONNRESET) { // it died without reading everything
		err = io.EOF
	}
	return message{kind(buffer[0]), int64(binary.BigEndian.Uint64(buffer[1:]))}, err
}

// socket makes the two ends. The second is for the supervisor, as a file without the poller, to be inherited by number.
func socket() (ours wire, theirs *os.File, err error) {
	// No other process may be started in between, which would inherit both and keep the socket open.
	syscall.ForkLock.RLock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return wire{}, nil, os.NewSyscallError("socketpair", err)
	}
	ours, err = open(ends[0])
	return ours, os.NewFile(uintptr(ends[1]), "supervisor"), err
}

// open makes a wire of a descriptor.
func open(fd int) (wire, error) {
	syscall.CloseOnExec(fd)
	err := syscall.SetNonblock(fd, true) // so that closing it ends a receive
	return wire{os.NewFile(uintptr(fd), "wire")}, err
}

// ending says how a job ended.
type ending struct {
	code       int            // the exit code
	signal     syscall.Signal // what the command died of, 0 if it exited
	cut        bool           // we ended it, because the hold was about to end
	foreground bool           // it had the terminal
}

func (e ending) pack() int64 {
	packed := int64(e.code)&0xff | int64(e.signal)<<8
	if e.cut {
		packed |= 1 << 16
	}
	if e.foreground {
		packed |= 1 << 17
	}
	return packed
}

func unpack(packed int64) ending {
	return ending{
		code: int(packed & 0xff), signal: syscall.Signal(packed >> 8 & 0xff),
		cut: packed&(1<<16) != 0, foreground: packed&(1<<17) != 0,
	}
}
