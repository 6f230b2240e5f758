package history

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The reports of a client process to the run, one line each. Lines are short enough for a pipe to take them
// atomically, so a killed process leaves no partial line.
const (
	lineHold   = "hold"   // client name id fence called start valid-until mode from
	lineEnd    = "end"    // client name id token end stalled: it is about to unlock, or has lost the hold
	lineExport = "export" // name id token: for another process to import
	lineBreak  = "break"  // name outcome called returned
	lineCall   = "call"   // client op outcome called returned why
	lineUnlock = "unlock" // outcome
	lineBad    = "bad"    // what must never happen, in words
	linePaused = "paused" // heap, in bytes: none of its goroutines is in a call
	lineLeft   = "left"   // goroutines after Close, and what they are
	lineClock  = "clock"  // what the clock of a process in Java says at its start
)

// Outcomes of a call in one word. Any other outcome fails the run.
const (
	outcomeOK          = "ok"
	outcomeBusy        = "busy"
	outcomeUnavailable = "unavailable"
	outcomeLost        = "lost"
	outcomeOver        = "context-over"
	outcomeNotHeld     = "not-held"
)

func holdLine(h Hold, validUntil time.Duration) string {
	return fmt.Sprintln(lineHold, h.Client, h.Name, h.ID, h.Fence, int64(h.Called), int64(h.Start),
		int64(validUntil), cmp.Or(h.Mode, "-"), cmp.Or(h.From, "-"))
}

func endLine(h Hold) string {
	return fmt.Sprintln(lineEnd, h.Client, h.Name, h.ID, h.Fence, int64(h.End), int64(h.Stalled))
}

func breakLine(name string, c Call) string {
	return fmt.Sprintln(lineBreak, name, c.Outcome, int64(c.Called), int64(c.Returned))
}

func callLine(c Call) string {
	const enough = 1000
	why := strings.Join(strings.Fields(c.Why), " ")
	return fmt.Sprintln(lineCall, c.Client, c.Op, c.Outcome, int64(c.Called), int64(c.Returned),
		why[:min(len(why), enough)])
}

// fields splits a line. The first invalid number is remembered.
type fields struct {
	words []string
	err   error
}

func (f *fields) word() string {
	if len(f.words) == 0 {
		f.err = fmt.Errorf("the line is too short")
		return ""
	}
	w := f.words[0]
	f.words = f.words[1:]
	return w
}

// rest is what the line has left, as one text.
func (f *fields) rest() string {
	words := f.words
	f.words = nil
	return strings.Join(words, " ")
}

func (f *fields) number() int64 {
	n, err := strconv.ParseInt(f.word(), 10, 64)
	if err != nil && f.err == nil {
		f.err = err
	}
	return n
}

func (f *fields) stamp() time.Duration { return time.Duration(f.number()) }

func parse(line string) *fields { return &fields{words: strings.Fields(line)} }
