package frames

import (
	"bytes"
	"fmt"
	"math"
)

// The bounds of one frame.
const (
	// MaxFrame is the size of a frame: its lines, the strings as long as their headers say, and ValueSize for each
	// value of an aggregate, as many as its header says.
	//
	// The largest reply that a lock waits for is the map of a cluster. One whose 16,384 slots are all apart, with two
	// replicas each and the names of hosts, has a size of 18 MB. Of our scripts' replies the permits of a semaphore
	// are the longest, 10,000 of them with 2 MB; Inspect tells 1,000 holders and waiters. A listing asks which
	// channels have a listener, all in one reply: 250,000 waiters' channels fit.
	MaxFrame = 32 << 20

	// ValueSize is what a value of an aggregate costs beside its text: what go-redis keeps for it before it comes.
	ValueSize = 32

	// MaxDepth is how deep aggregates nest. The map of a cluster has four levels.
	MaxDepth = 8

	// MaxLine is the length of a status, an error or a number. Redis cuts the text of its errors long before.
	MaxLine = 64 << 10
)

// Error is the error of a connection whose server sent what no reply is.
type Error struct{ Problem string }

func (e *Error) Error() string { return "the server sent no valid reply: " + e.Problem }

// Scanner follows the frames in what a server sends, however it is cut into pieces. The zero value stands before the
// first frame. It is used by one goroutine.
//
// It is in one of three states: inside a string, of which skip bytes are to come; inside a line, whose first byte was
// kind; or before a line, with kind 0.
type Scanner struct {
	skip int64 // of the contents of a string, and the end of their line
	kind byte
	line lineState
	size int64 // of the frame so far
	deep int   // how many aggregates are open
	open [MaxDepth]aggregate
	err  error // the first one; nothing follows it
}

// lineState is what is known of the line that is being read.
type lineState struct {
	length int
	digits int
	value  uint64
	sign   bool
	minus  bool
	cr     bool // the last byte was \r
}

// aggregate is an array, a set, a push or a map whose values are being read.
type aggregate struct {
	left int64 // values to come
	keys bool  // of a map: those before which an even number is left are keys
	name bool  // of a push: the next value is its name
}

// Inside reports whether a frame has begun and not ended.
func (s *Scanner) Inside() bool { return s.kind != 0 || s.skip > 0 || s.deep > 0 }

// Scan takes the next bytes. It returns how many of them may be passed on: all, or if there is an error those before
// the line that must not be. After an error it passes on nothing.
func (s *Scanner) Scan(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	begun := 0 // where the line began
	for at := 0; at < len(p); {
		if s.skip > 0 {
			n := min(s.skip, int64(len(p)-at))
			s.skip, at = s.skip-n, at+int(n)
			if s.skip == 0 {
				s.ended()
			}
			continue
		}
		if s.kind == 0 {
			begun = at
			s.begin(p[at])
			at++
		}
		if s.err == nil {
			at += s.more(p[at:])
		}
		if s.err != nil {
			return begun, s.err
		}
	}
	return len(p), nil
}

// Fail ends the scanner with a problem.
func (s *Scanner) Fail(problem string) error {
	if s.err == nil {
		s.err = &Error{Problem: problem}
	}
	return s.err
}

func (s *Scanner) failf(format string, args ...any) { _ = s.Fail(fmt.Sprintf(format, args...)) }

// begin starts a line.
func (s *Scanner) begin(kind byte) {
	s.kind, s.line = kind, lineState{length: 1}
	if s.deep == 0 {
		s.size = 0
	}
	switch kind {
	case '+', ':', '$', '*', '_', ',', '#', '(', '=', '%', '~':
	case '-', '!':
		if s.deep > 0 {
			s.failf("an error inside another value")
		}
	case '>':
		if s.deep > 0 {
			s.failf("a push inside another value")
		}
	default:
		s.failf("no type of a value begins with %q", kind)
	}
	if s.key() && (kind == '_' || kind == '*' || kind == '%' || kind == '~') {
		s.failf("a key of a map of type %q", kind)
	}
	if s.named() && kind != '$' && kind != '+' {
		s.failf("a name of a push of type %q", kind)
	}
}

// named reports that the value that comes is the name of a push.
func (s *Scanner) named() bool { return s.deep > 0 && s.open[s.deep-1].name }

// key reports that the value that comes is the key of a map.
func (s *Scanner) key() bool {
	return s.deep > 0 && s.open[s.deep-1].keys && s.open[s.deep-1].left%2 == 0
}

// more takes what comes of a line, and returns how much that is.
func (s *Scanner) more(p []byte) int {
	switch s.kind {
	case '+', '-', '_', ',', '#', '(':
		return s.text(p)
	}
	return s.number(p)
}

// text takes a line without a meaning for the scanner.
func (s *Scanner) text(p []byte) int {
	n := bytes.IndexByte(p, '\n') + 1
	whole := n > 0
	if !whole {
		n = len(p)
	}
	if s.line.length += n; s.line.length > MaxLine {
		s.failf("a line of more than %d bytes", MaxLine)
		return n
	}
	if !whole {
		if n > 0 {
			s.line.cr = p[n-1] == '\r'
		}
		return n
	}
	if n > 1 {
		s.line.cr = p[n-2] == '\r'
	}
	if !s.line.cr || s.line.length < 3 {
		s.failf("a line that does not end with \\r\\n, or is empty")
		return n
	}
	s.grow(int64(s.line.length))
	s.ended()
	return n
}

// number takes a line with a number: an integer, or a length.
func (s *Scanner) number(p []byte) int {
	value, digits := s.line.value, s.line.digits // most bytes are digits, and these cost nothing
	for i, c := range p {
		if '0' <= c && c <= '9' && digits < 19 && !s.line.cr {
			value, digits = 10*value+uint64(c-'0'), digits+1
			continue
		}
		s.line.value, s.line.digits = value, digits
		switch {
		case s.line.cr && c == '\n' && digits > 0:
			s.counted()
			return i + 1
		case s.line.cr:
			s.failf("a number that does not end with \\r\\n, or is empty")
		case c == '\r':
			s.line.cr = true
		case (c == '-' || c == '+' && s.kind == ':') && digits == 0 && !s.line.sign:
			s.line.sign, s.line.minus = true, c == '-'
		default:
			s.failf("%q in a number, or too many digits", c)
		}
		if s.err != nil {
			return i
		}
	}
	s.line.value, s.line.digits = value, digits
	return len(p)
}

// counted acts on a number.
func (s *Scanner) counted() {
	l := s.line
	switch {
	case s.kind == ':':
		if l.value > math.MaxInt64 && (!l.minus || l.value > -math.MinInt64) {
			s.failf("an integer of more than 64 bits")
		}
		s.ended()
	case l.minus:
		if l.value != 1 || l.digits != 1 || s.key() || s.named() || s.kind == '>' {
			s.failf("a length of -%d", l.value)
		}
		s.ended() // null
	case l.value > MaxFrame:
		s.failf("a length of %d", l.value)
	case s.kind == '$' || s.kind == '=' || s.kind == '!':
		s.grow(int64(l.value))
		s.kind, s.skip = 0, int64(l.value)+2
	default:
		s.enter(int64(l.value))
	}
}

// enter opens an aggregate of n values, or n pairs.
func (s *Scanner) enter(n int64) {
	pairs, push := s.kind == '%', s.kind == '>'
	if pairs {
		n *= 2
	}
	s.grow(n * ValueSize)
	switch {
	case n == 0 && push:
		s.failf("a push without a name")
	case n == 0:
		s.ended()
	case s.deep == MaxDepth:
		s.failf("more than %d levels", MaxDepth)
	default:
		s.kind, s.open[s.deep] = 0, aggregate{n, pairs, push}
		s.deep++
	}
}

// grow counts what a frame may cost its reader.
func (s *Scanner) grow(n int64) {
	if s.size += n; s.size > MaxFrame {
		s.failf("a reply of more than %d MB", MaxFrame>>20)
	}
}

// ended is the end of a value, and of the aggregates that it completes.
func (s *Scanner) ended() {
	s.kind = 0
	for s.deep > 0 {
		in := &s.open[s.deep-1]
		in.name = false
		if in.left--; in.left > 0 {
			return
		}
		s.deep--
	}
}
