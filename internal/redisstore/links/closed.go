package links

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"
)

// closedError says why a connection was closed here. A request that is under way on it, or about to be sent, fails for
// that reason, and "use of closed network connection" would not tell it. It is no answer of a server: the request may
// have been carried out.
type closedError struct{ why string }

func (e *closedError) Error() string { return e.why }

// Is reports that the connection was closed at this end.
func (e *closedError) Is(target error) bool { return target == net.ErrClosed }

var (
	errLeft       = &closedError{"this server is no longer a primary"}
	errUnfollowed = &closedError{"nobody confirms that this server is the primary"}
	errSuspected  = &closedError{"it may have been forgotten on the way: another one to this server was not answered"}
	errEnded      = &closedError{"the client is closed"}
)

// refusal is the reason of connections to a server that refuses to serve on another one.
func refusal(reply []byte) *closedError {
	said, _, _ := bytes.Cut(reply[1:], []byte("\r\n"))
	return &closedError{fmt.Sprintf("the server said %q on another connection", said[:min(len(said), longestWords)])}
}

// explain makes the error of a connection that was closed here say why. Without a reason of ours go-redis has closed
// it, which it does to one that is in use only at the end of the client.
func (t *track) explain(op string, err error) error {
	if err == nil || timedOut(err) {
		return err
	}
	why := t.over.Load()
	switch {
	case why == nil && errors.Is(err, net.ErrClosed):
		why = errEnded
	case why == nil:
		return err
	}
	err = &net.OpError{Op: op, Net: "tcp", Source: t.LocalAddr(), Addr: t.RemoteAddr(), Err: why}
	return fmt.Errorf("%w", err) // go-redis unwraps one layer of an error in the handshake
}

// SetDeadline implements [net.Conn].
func (t *track) SetDeadline(at time.Time) error { return t.explain("set", t.Conn.SetDeadline(at)) }

// SetReadDeadline implements [net.Conn].
func (t *track) SetReadDeadline(at time.Time) error {
	return t.explain("set", t.Conn.SetReadDeadline(at))
}

// SetWriteDeadline implements [net.Conn].
func (t *track) SetWriteDeadline(at time.Time) error {
	return t.explain("set", t.Conn.SetWriteDeadline(at))
}
