package job

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ourselves is this program, even after its file was replaced.
func ourselves() (string, error) { return "/proc/self/exe", nil }

// attributes of the command: the kernel kills it when the supervisor's thread ends, which is when the supervisor does.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// hurry gives this process the first right to a processor, where the system lets it (to root): the supervisor has to be
// in time on a busy machine. The command was started before, and has its own priority.
func hurry() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, -20) // threads that start later have their starter's
		}
	}
}

// stopOurselves stops this process until it is continued, unless no shell could continue it. The kernel knows: by
// default, SIGTSTP does nothing to an orphaned process group, where SIGSTOP would stop it for good. The caller ignores
// the signal before and catches it again afterwards.
func stopOurselves() {
	// A signal for this very thread is delivered before the call returns.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var byDefault [64]byte // a struct sigaction of the kernel's; zero is SIG_DFL in each of its layouts
	const sizeOfMask = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(unix.SIGTSTP), uintptr(unsafe.Pointer(&byDefault)), 0, sizeOfMask, 0, 0)
	if errno != 0 {
		return
	}
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP)
}

// moreSignals are those of Linux alone, and the real-time signals that the C library does not keep for itself.
func moreSignals() []os.Signal {
	const firstRT, lastRT = 34, 64
	signals := []os.Signal{syscall.SIGPWR, syscall.SIGSTKFLT}
	for sig := syscall.Signal(firstRT); sig <= lastRT; sig++ {
		signals = append(signals, sig)
	}
	return signals
}
