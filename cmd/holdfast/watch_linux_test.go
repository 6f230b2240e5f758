package main

import (
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// picture is where a picture of watch goes, for the documentation.
var picture = flag.String("picture", "", "`file` for a picture of watch, as SVG")

// resize makes the screen so wide and high.
func (s *screen) resize(columns, rows int) {
	s.t.Helper()
	size := unix.Winsize{Col: uint16(columns), Row: uint16(rows)}
	require.NoError(s.t, unix.IoctlSetWinsize(int(s.tty.Fd()), unix.TIOCSWINSZ, &size))
}

// frames are what watch has drawn so far, without the one under way.
func (s *screen) frames() (all [][]string) {
	whole := strings.Split(s.text(), "\x1b[J")
	for _, frame := range whole[:len(whole)-1] {
		_, frame, _ = strings.Cut(frame, "\x1b[H")
		all = append(all, strings.Split(strings.NewReplacer("\x1b[K", "", "\r", "").Replace(frame), "\n"))
	}
	return all
}

// awaitFrame waits until watch has drawn what is wanted, and returns that frame.
func (s *screen) awaitFrame(wanted func(lines []string) bool) (found []string) {
	s.t.Helper()
	redistest.Eventually(s.t, limit, func() bool {
		frames := s.frames()
		if at := slices.IndexFunc(frames, wanted); at >= 0 {
			found = frames[at]
			return true
		}
		return false
	}, "a frame of watch")
	return found
}

// shop is a server with locks that some processes hold and wait for. It returns its address.
func shop(t *testing.T) (addr string) {
	t.Helper()
	server := redistest.Start(t)
	client := func(owner string) *rlock.Client {
		c, err := rlock.NewClient(server.Client(t), &rlock.ClientOptions{Owner: owner})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ctx, cancel := context.WithCancel(context.Background())
	var waits []chan struct{}
	t.Cleanup(func() {
		cancel()
		for _, ended := range waits {
			<-ended
		}
	})
	hold := func(lock rlock.Locker) {
		_, _, err := lock.Lock(ctx)
		require.NoError(t, err)
	}
	wait := func(lock rlock.Locker) {
		ended := make(chan struct{})
		waits = append(waits, ended)
		go func() {
			defer close(ended)
			_, _, _ = lock.Lock(ctx) // until the test ends
		}()
	}
	one, two := client("shop@web-1"), client("shop@web-2")
	hold(rlock.New(one, "order:1001"))
	wait(rlock.New(two, "order:1001"))
	hold(rlock.New(two, "order:1002"))
	hold(fairlock.New(two, "till"))
	wait(fairlock.New(one, "till"))
	wait(fairlock.New(client("shop@web-3"), "till"))
	hold(rwlock.New(one, "catalog").Read())
	hold(rwlock.New(two, "catalog").Read())
	hold(rwlock.New(client("import@worker-1"), "prices").Write())
	printers := semaphore.New(one, "printers")
	require.NoError(t, printers.SetCapacity(ctx, 3))
	for range 2 {
		_, _, err := printers.Acquire(ctx, 1)
		require.NoError(t, err)
	}
	return server.Addr()
}

// Watch on a terminal draws what changes, over what it drew before, and fits a terminal whose size changes. The picture
// in the documentation is of such a run:
//
//	cd cmd/holdfast && go test . -run WatchOnATerminal -picture ../../docs/watch.svg
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	s := openScreen(t)
	s.resize(110, 12)
	h := s.on(prepare(t, shop(t), "watch", "--interval", "500ms")).start()
	row := func(lines []string, parts ...string) bool {
		return slices.ContainsFunc(lines, func(line string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		})
	}
	held := s.awaitFrame(func(lines []string) bool {
		return row(lines, "till", "fair", "web-2", " 2  ") && row(lines, "order:1001", "web-1", " 1  ") &&
			row(lines, "catalog", "rwlock read", "1 more") && row(lines, "prices", "write", "worker-1") &&
			row(lines, "printers", "semaphore") && row(lines, "order:1002", "1.") // seconds
	})
	s.resize(30, 4)
	small := s.awaitFrame(func(lines []string) bool { return len(lines) == 4 })
	assert.Contains(t, small[3], "more")
	for _, line := range small {
		assert.LessOrEqual(t, len(line), 30)
	}
	require.NoError(t, h.Process.Signal(syscall.SIGINT))
	assert.Zero(t, h.wait(), s.text())
	if *picture != "" {
		require.NoError(t, os.WriteFile(*picture, []byte(drawn(held)), 0o600))
	}
}

// A watch on a terminal shows an error on lines of its own above the table that it had, goes on, and leaves the
// terminal at the beginning of a line (defect F18).
func TestAnErrorOnTheTerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, err := rlock.NewClient(server.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	_, _, err = rlock.New(client, "order:1").Lock(context.Background())
	require.NoError(t, err)
	s := openScreen(t)
	s.resize(60, 12)
	h := s.on(prepare(t, server.Addr(), "watch", "--interval", "100ms", "--lease", "3s")).start()
	shows := func(text string) func(lines []string) bool {
		return func(lines []string) bool { return strings.Contains(strings.Join(lines, ""), text) }
	}
	s.awaitFrame(shows("order:1"))
	server.Stop()
	failed := s.awaitFrame(shows("cannot list locks"))
	server.Continue()
	assert.Contains(t, strings.Join(failed, ""), "unavailable")
	at := slices.IndexFunc(failed, func(line string) bool { return strings.Contains(line, "1 lock") })
	require.Positive(t, at, "%q", failed)
	assert.True(t, strings.HasPrefix(failed[at+1], "NAME"), "%q", failed)
	assert.Contains(t, failed[at+2], "order:1")
	seen := len(s.frames())
	redistest.Eventually(t, limit, func() bool {
		return slices.ContainsFunc(s.frames()[seen:], func(lines []string) bool { return !shows("cannot list")(lines) })
	}, "the next table")
	require.NoError(t, h.Process.Signal(syscall.SIGINT))
	assert.Zero(t, h.wait(), s.text())
	redistest.Eventually(t, limit, func() bool { return strings.HasSuffix(s.text(), "\n") }, "the line is ended")
}

// drawn is a terminal with those lines, as SVG.
func drawn(lines []string) string {
	const column, row, margin = 8.43, 20, 16
	var svg strings.Builder
	lines = append([]string{"$ holdfast watch"}, lines...)
	longest := 0
	for _, line := range lines {
		longest = max(longest, len(line))
	}
	width, height := int(column*float64(longest))+2*margin, row*len(lines)+2*margin
	_, _ = fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<rect width="100%%" height="100%%" rx="6" fill="#1e1e2e"/>
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#cdd6f4">
`, width, height)
	for i, line := range lines {
		var escaped strings.Builder
		_ = xml.EscapeText(&escaped, []byte(line)) // a builder takes everything
		_, _ = fmt.Fprintf(&svg, `<text x="%d" y="%d" xml:space="preserve" textLength="%.1f">%s</text>`+"\n",
			margin, margin+14+i*row, column*float64(len(line)), escaped.String())
	}
	_, _ = svg.WriteString("</g>\n</svg>\n")
	return svg.String()
}
