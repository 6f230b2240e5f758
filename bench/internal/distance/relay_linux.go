package distance

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Available reports whether there are relays on this system.
const Available = true

const (
	chunkSize = 32 << 10
	reserve   = 256 // buffers that are made beforehand
)

// Relay is a network between clients and some servers.
type Relay struct {
	half               time.Duration
	began              time.Time
	epoll, timer, stop int // file descriptors
	doors              map[int32]*server
	ends               map[int32]*end
	addrs              []string
	thread             chan int // whose number comes through it once
	tid                int
	gone               chan struct{}

	mu    sync.Mutex // guards all below; the thread has it except while it waits
	queue []chunk    // in the order in which they are due, as all are under way for as long
	spare [][]byte
	seen  int // round trips, by clients
	late  time.Duration
	sent  int // chunks, since lateness was asked for
}

// server is where connections go that come to one door.
type server struct {
	to   unix.SockaddrInet4
	seen int // round trips that lie behind what reached it
}

// end is one of the two ends of a connection.
type end struct {
	fd     int
	peer   *end
	server *server
	client bool   // it leads to a client
	out    []byte // what the kernel did not take yet
	closed bool   // it will send nothing more
	over   bool   // nothing more comes for it: shut once out is empty
	shut   bool
}

// chunk is under way.
type chunk struct {
	due  time.Duration // since the relay began
	to   *end
	data []byte // none: the sender has closed
	seen int
}

// Open makes a relay to servers on the loopback interface, round trips to which take that much longer.
func Open(roundTrip time.Duration, servers []string) (opened *Relay, err error) {
	r := &Relay{
		half: roundTrip / 2, began: time.Now(), epoll: -1, timer: -1, stop: -1,
		doors: map[int32]*server{}, ends: map[int32]*end{}, thread: make(chan int, 1), gone: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			r.closeAll()
		}
	}()
	for range reserve {
		r.spare = append(r.spare, make([]byte, 0, chunkSize))
	}
	if r.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("distance: epoll: %w", err)
	}
	flags := unix.TFD_NONBLOCK | unix.TFD_CLOEXEC
	if r.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, flags); err != nil {
		return nil, fmt.Errorf("distance: timer: %w", err)
	}
	if r.stop, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("distance: event: %w", err)
	}
	if err := errors.Join(r.watch(r.timer), r.watch(r.stop)); err != nil {
		return nil, err
	}
	for _, addr := range servers {
		if err := r.listen(addr); err != nil {
			return nil, fmt.Errorf("distance: a door to %s: %w", addr, err)
		}
	}
	go r.run()
	r.tid = <-r.thread
	return r, nil
}

func (r *Relay) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

func (r *Relay) listen(addr string) error {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s := &server{to: unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}}
	r.doors[int32(fd)] = s
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := errors.Join(unix.Listen(fd, 4096), r.watch(fd)); err != nil {
		return err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	r.addrs = append(r.addrs, fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port))
	return nil
}

// Addrs are the addresses to connect to instead of the servers', in their order.
func (r *Relay) Addrs() []string { return r.addrs }

// CPU is the processor time that the relay has used.
func (r *Relay) CPU() time.Duration {
	const perThread, scheduled = 4, 2 // as the kernel numbers the clocks of threads
	var t unix.Timespec
	if unix.ClockGettime(int32(^r.tid<<3|perThread|scheduled), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Late is by how much, on the average, what was delivered since the last call came too late, there and back.
func (r *Relay) Late() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	late := 2 * r.late / time.Duration(max(r.sent, 1))
	r.late, r.sent = 0, 0
	return late
}

// Reset begins a count of round trips: nothing lies behind what is under way.
func (r *Relay) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = 0
	for _, s := range r.doors {
		s.seen = 0
	}
	for i := range r.queue {
		r.queue[i].seen = 0
	}
}

// Trips is how many round trips came one after the other since the last reset.
func (r *Relay) Trips() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// Close ends the relay and all connections through it.
func (r *Relay) Close() error {
	_, err := unix.Write(r.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	if err == nil {
		<-r.gone
	}
	return err
}

func (r *Relay) closeAll() {
	for fd := range r.ends {
		_ = unix.Close(int(fd))
	}
	for fd := range r.doors {
		_ = unix.Close(int(fd))
	}
	for _, fd := range []int{r.epoll, r.timer, r.stop} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// run is the relay's thread.
func (r *Relay) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(r.gone)
	defer r.closeAll()
	r.thread <- unix.Gettid()
	events := make([]unix.EpollEvent, 256)
	for {
		n, err := unix.EpollWait(r.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		r.mu.Lock()
		for _, event := range events[:max(n, 0)] {
			if event.Fd == int32(r.stop) {
				r.mu.Unlock()
				return
			}
			r.happened(event)
		}
		r.deliver()
		r.mu.Unlock()
	}
}
