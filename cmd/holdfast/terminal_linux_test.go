package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// screen is a terminal: what is typed, and what it shows.
type screen struct {
	t     *testing.T
	keys  *os.File // the side of the person
	tty   *os.File // the side of the programs
	mu    sync.Mutex
	shown strings.Builder // guarded by mu
}

func openScreen(t *testing.T) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	fd := int(keys.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	s := &screen{t: t, keys: keys, tty: tty}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1024)
		for {
			n, err := keys.Read(buffer)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.shown.Write(buffer[:n])
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = tty.Close()
		<-ended // the read fails when nobody has the other side open
		_ = keys.Close()
	})
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *screen) await(text string) {
	s.t.Helper()
	redistest.Eventually(s.t, limit, func() bool { return strings.Contains(s.text(), text) }, text)
}

func (s *screen) typed(text string) {
	s.t.Helper()
	_, err := s.keys.WriteString(text)
	require.NoError(s.t, err)
}

// foreground is the process group that may read the terminal.
func (s *screen) foreground() int {
	group, err := unix.IoctlGetInt(int(s.tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		group, err = unix.IoctlGetInt(int(s.keys.Fd()), unix.TIOCGPGRP)
	}
	require.NoError(s.t, err)
	return group
}

// on makes the screen the controlling terminal of a session that begins with h.
func (s *screen) on(h *holdfast) *holdfast {
	h.Stdin, h.Stdout, h.Stderr = s.tty, s.tty, s.tty
	h.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return h
}

func TestAnInteractiveCommandReadsTheTerminal(t *testing.T) {
	t.Parallel()
	s := openScreen(t)
	h := s.on(prepare(t, addr(t), "run", redistest.Key(t), "--", "sh", "-c", `echo up; read a; echo "got $a"`)).start()
	s.await("up")
	s.typed("hello\r")
	assert.Zero(t, h.wait(), s.text())
	s.await("got hello")
}

func TestACommandInAPipelineGetsTheTerminalWhenItReads(t *testing.T) {
	t.Parallel()
	s := openScreen(t)
	h := s.on(prepare(t, addr(t), "run", redistest.Key(t), "--", "sh", "-c",
		`echo up >/dev/tty; while ! [ -e "$PIDS" ]; do sleep 0.01; done; read a; echo "got $a"`))
	h.Stdout = h.out.create(t)
	h.start()
	s.await("up")
	assert.Equal(t, h.Process.Pid, s.foreground(), "the terminal is the others' until then")
	require.NoError(t, os.WriteFile(h.pids, nil, 0o600))
	s.typed("hello\r")
	assert.Zero(t, h.wait(), s.text())
	assert.Equal(t, "got hello\n", h.out.String())
}

func TestCtrlCEndsAnInteractiveCommand(t *testing.T) {
	t.Parallel()
	s := openScreen(t)
	h := s.on(prepare(t, addr(t), "run", redistest.Key(t), "--", "cat")).start()
	s.typed("ready\r")
	s.await("ready\r\nready") // the terminal's echo, and the command's: it runs, and is no shell that is starting another
	s.typed("\x03")
	assert.Equal(t, 128+2, h.wait(), s.text())
}
