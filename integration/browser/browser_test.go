package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// limit is for what must happen some time: it only catches hangs.
const limit = time.Minute

// program returns where a Chromium is, and installs one if there is none.
func program(t *testing.T) string {
	t.Helper()
	find := func() string {
		for _, name := range []string{
			"chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome",
		} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	if path := find(); path != "" {
		return path
	}
	said, _ := exec.CommandContext(t.Context(), "../../scripts/install.sh", "chromium").CombinedOutput()
	path := find()
	require.NotEmpty(t, path, "this test needs a Chromium and could not install it: %s", said)
	return path
}

// tab is one page of a browser.
type tab struct {
	t       *testing.T
	to      io.Writer
	session string

	mu         sync.Mutex // guards all below
	last       int
	answers    map[int]chan reply
	complaints []string // errors that the browser would show in its console
}

type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// open starts a browser with an empty page. The protocol is a JSON text for each message, ended by a zero byte, on the
// descriptors 3 and 4.
func open(t *testing.T) *tab {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	require.NoError(t, err)
	ourIn, theirOut, err := os.Pipe()
	require.NoError(t, err)
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	// The sandbox does not run as root, or in many containers. The only page is ours.
	cmd := exec.Command(program(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(dir, "profile"))
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	require.NoError(t, theirIn.Close())
	require.NoError(t, theirOut.Close())
	b := &tab{t: t, to: ourOut, answers: make(map[int]chan reply)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.receive(ourIn)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed, as intended
		_ = ourOut.Close()
		<-read
		_ = ourIn.Close()
		if said, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s", said)
		}
		assert.NoError(t, log.Close())
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank", "width": 1000, "height": 580}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// receive takes in what the browser says, until it ends.
func (b *tab) receive(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var r reply
		if json.Unmarshal(text[:len(text)-1], &r) != nil {
			continue
		}
		b.mu.Lock()
		switch r.Method {
		case "":
			b.answers[r.ID] <- r // has room
			delete(b.answers, r.ID)
		case "Runtime.exceptionThrown", "Log.entryAdded":
			b.complaints = append(b.complaints, string(r.Params))
		}
		b.mu.Unlock()
	}
}

// call carries out a command of the protocol.
func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	b.answers[b.last] = answer
	b.mu.Unlock()
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(text, 0))
	require.NoError(b.t, err)
	select {
	case r := <-answer:
		require.Nil(b.t, r.Error, "%s: %+v", method, r.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(r.Result, result))
		}
	case <-time.After(limit):
		require.FailNow(b.t, "the browser does not answer", method)
	}
}

// eval returns the value of an expression as JavaScript's String has it.
func (b *tab) eval(expression string) string {
	b.t.Helper()
	var result struct {
		Result struct{ Value string }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")"}, &result)
	return result.Result.Value
}

// await waits until a condition in JavaScript is true.
func (b *tab) await(condition string) {
	b.t.Helper()
	redistest.Eventually(b.t, limit, func() bool { return b.eval(condition) == "true" }, condition)
}

// sees waits until the page shows the text in the table of that id.
func (b *tab) sees(table, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.getElementById(%q)?.innerText.includes(%q)", table, text))
}

// visit opens an address.
func (b *tab) visit(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	b.await(fmt.Sprintf("location.href == %q && document.readyState == 'complete'", address))
}

// types types into what has the focus, and presses Enter if the text ends with a newline.
func (b *tab) types(text string) {
	b.t.Helper()
	for _, r := range text {
		if r == '\n' {
			b.call("Input.dispatchKeyEvent", map[string]any{
				"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}, nil)
			continue
		}
		b.call("Input.insertText", map[string]any{"text": string(r)}, nil)
	}
}

// picture is what the page looks like, as PNG.
func (b *tab) picture() []byte {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	return shot.Data
}

// errors are what the browser has complained of.
func (b *tab) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.complaints
}
