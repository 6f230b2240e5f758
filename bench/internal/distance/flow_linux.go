package distance

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// happened does what an event asks for. It closes nothing: a later event of the same wait may be about it.
func (r *Relay) happened(event unix.EpollEvent) {
	if event.Fd == int32(r.timer) {
		var expirations [8]byte
		_, _ = unix.Read(r.timer, expirations[:]) // so that it does not tell again
		return
	}
	if door := r.doors[event.Fd]; door != nil {
		r.accept(int(event.Fd), door)
		return
	}
	e := r.ends[event.Fd]
	if e == nil {
		return
	}
	if event.Events&unix.EPOLLOUT != 0 {
		r.send(e, nil)
	}
	if event.Events&^unix.EPOLLOUT != 0 {
		r.receive(e)
	}
}

// accept connects through. A server that is frozen takes connections as well: its kernel does.
func (r *Relay) accept(door int, s *server) {
	for {
		in, _, err := unix.Accept4(door, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		out, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			_ = unix.Close(in)
			continue
		}
		if err := errors.Join(unix.Connect(out, &s.to), unix.SetNonblock(out, true)); err != nil {
			_, _ = unix.Close(in), unix.Close(out)
			continue
		}
		client, far := &end{fd: in, server: s, client: true}, &end{fd: out, server: s}
		client.peer, far.peer = far, client
		for _, e := range []*end{client, far} {
			_ = unix.SetsockoptInt(e.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			r.ends[int32(e.fd)] = e
			_ = r.watch(e.fd)
		}
	}
}

// receive takes what has come and puts it under way.
func (r *Relay) receive(e *end) {
	c := chunk{due: time.Since(r.began) + r.half, to: e.peer, seen: r.seen}
	if !e.client {
		c.seen = e.server.seen + 1
	}
	buffer := r.buffer()
	n, err := unix.Read(e.fd, buffer[:cap(buffer)])
	switch {
	case n > 0:
		c.data = buffer[:n]
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		r.spare = append(r.spare, buffer)
		return
	default:
		r.spare = append(r.spare, buffer)
		e.closed = true
		_ = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_DEL, e.fd, nil) // it would report that for ever
	}
	r.queue = append(r.queue, c)
}

func (r *Relay) buffer() []byte {
	if last := len(r.spare) - 1; last >= 0 {
		buffer := r.spare[last]
		r.spare = r.spare[:last]
		return buffer[:0]
	}
	return make([]byte, 0, chunkSize)
}

// deliver sends what is due and sets the timer to what is next.
func (r *Relay) deliver() {
	const soon = time.Microsecond // a timer would not be back any sooner
	done := 0
	for ; done < len(r.queue); done++ {
		c := r.queue[done]
		now := time.Since(r.began)
		if c.due > now+soon {
			break
		}
		r.late += max(now-c.due, 0)
		r.sent++
		r.arrive(c)
	}
	r.queue = r.queue[:copy(r.queue, r.queue[done:])]
	if len(r.queue) == 0 {
		return
	}
	left := max(r.queue[0].due-time.Since(r.began), 1)
	_ = unix.TimerfdSettime(r.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
}

func (r *Relay) arrive(c chunk) {
	if c.data == nil {
		c.to.over = true
		r.send(c.to, nil)
		r.part(c.to)
		return
	}
	if c.to.client {
		r.seen = max(r.seen, c.seen)
	} else {
		c.to.server.seen = max(c.to.server.seen, c.seen)
	}
	r.send(c.to, c.data)
	r.spare = append(r.spare, c.data)
}

// send writes what was left before, and then data, as far as the kernel takes it.
func (r *Relay) send(e *end, data []byte) {
	if e.shut {
		return
	}
	waited := len(e.out) > 0
	if waited {
		e.out = append(e.out, data...)
		data = e.out
	}
	for len(data) > 0 {
		n, err := unix.Write(e.fd, data)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			e.out, e.shut = nil, true // nobody is there to read it
			return
		}
		if err != nil {
			break
		}
		data = data[n:]
	}
	e.out = append(e.out[:0], data...)
	if waited != (len(e.out) > 0) && !e.closed {
		events := uint32(unix.EPOLLIN)
		if len(e.out) > 0 {
			events |= unix.EPOLLOUT
		}
		_ = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_MOD, e.fd, &unix.EpollEvent{Events: events, Fd: int32(e.fd)})
	}
	if e.over && (len(e.out) == 0 || e.closed) {
		e.out, e.shut = nil, true
		_ = unix.Shutdown(e.fd, unix.SHUT_WR) // fails where the other side has gone, which is all the same
	}
}

// part closes a connection that has ended in both directions.
func (r *Relay) part(e *end) {
	if !e.over || !e.peer.over {
		return
	}
	for _, one := range []*end{e, e.peer} {
		delete(r.ends, int32(one.fd))
		_ = unix.Close(one.fd)
	}
}
