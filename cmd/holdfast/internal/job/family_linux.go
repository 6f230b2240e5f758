package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// family are the living descendants of this process, as far as they were seen.
type family struct{ members map[int]member }

// member is one descendant. Its pidfd stands for the process, even when its number is used again.
type member struct {
	pidfd int    // -1 if there is none: on kernels before 5.3, or with too many open files
	born  uint64 // when it was started: with the number, this identifies the process
}

// adopt makes descendants whose parent ends children of this process, and checks that descendants can be seen.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_CHILD_SUBREAPER)", err)
	}
	_, err := look(os.Getpid())
	switch {
	case errors.Is(err, unix.ENOENT):
		return errors.New("/proc must be mounted: what the command starts could not be found")
	case err != nil:
		return fmt.Errorf("what the command starts could not be found: %w", err)
	}
	return nil
}

// look updates the family. A process that is started meanwhile may be missed.
func (f *family) look() {
	seen := map[int]member{}
	for pid, born := range descendants(os.Getpid()) {
		known, ok := f.members[pid]
		switch {
		case ok && known.born == born:
			seen[pid] = known
			delete(f.members, pid)
		default:
			if m, ok := identify(pid, born); ok {
				seen[pid] = m
			}
		}
	}
	for _, gone := range f.members {
		gone.close()
	}
	f.members = seen
}

// signal sends a signal to every member that was seen. It returns those that the system does not let us signal.
func (f *family) signal(sig syscall.Signal, except int) (denied []int) {
	for pid, m := range f.members {
		if pid == except {
			continue
		}
		if err := m.signal(pid, sig); errors.Is(err, unix.EPERM) {
			denied = append(denied, pid)
		}
	}
	return denied
}

func (f *family) close() {
	for _, m := range f.members {
		m.close()
	}
	f.members = nil
}

// identify returns the process that had this number and was born then, if it still lives.
func identify(pid int, born uint64) (member, bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return member{}, false
	}
	if err != nil {
		fd = -1
	}
	m := member{pidfd: fd, born: born}
	// The number may have been used again before the pidfd was opened. If the process with the number is still the
	// one that was seen, it has been so all the time, and the pidfd is its.
	if now, err := look(pid); err != nil || now.born != born {
		m.close()
		return member{}, false
	}
	return m, true
}

func (m member) signal(pid int, sig syscall.Signal) error {
	if m.pidfd >= 0 {
		err := unix.PidfdSendSignal(m.pidfd, sig, nil, 0)
		if !errors.Is(err, unix.ENOSYS) {
			return err
		}
	}
	if now, err := look(pid); err != nil || now.born != m.born {
		return unix.ESRCH
	}
	return unix.Kill(pid, sig)
}

func (m member) close() {
	if m.pidfd >= 0 {
		_ = unix.Close(m.pidfd)
	}
}

// descendants returns all living descendants of a process, each with its time of birth.
func descendants(of int) map[int]uint64 {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	children := map[int][]int{}
	all := make(map[int]process, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := look(pid); err == nil {
			all[pid] = p
			children[p.parent] = append(children[p.parent], pid)
		}
	}
	found := map[int]uint64{}
	for queue := children[of]; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if _, twice := found[pid]; twice || pid == of {
			continue // the looks were at different times, and may show a circle
		}
		found[pid] = all[pid].born
		queue = append(queue, children[pid]...)
	}
	for pid := range found {
		if all[pid].dead {
			delete(found, pid)
		}
	}
	return found
}

// process is what /proc says of one.
type process struct {
	parent int
	born   uint64
	dead   bool // it has ended and its parent does not know yet
}

// look reads /proc/PID/stat. The name, which may contain anything, is in parentheses.
func look(pid int) (process, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	var buffer [1024]byte
	n, err := unix.Read(fd, buffer[:])
	_ = unix.Close(fd)
	if err != nil {
		return process{}, &os.PathError{Op: "read", Path: name, Err: err}
	}
	stat := buffer[:n]
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, fmt.Errorf("%s is no proc_pid_stat(5)", name)
	}
	// proc_pid_stat(5): field 3 is the state, 4 the parent, 20 the number of threads, 22 the time of birth. A process
	// whose first thread has ended looks dead while others run.
	parent, err1 := strconv.Atoi(string(fields[1]))
	born, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	dead := fields[0][0] == 'X' || fields[0][0] == 'Z' && string(fields[17]) == "1"
	return process{parent: parent, born: born, dead: dead}, errors.Join(err1, err2)
}
