package frames

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scanned feeds a scanner in pieces of that size, and returns how much it passed on and how many frames were complete
// at the end of a piece.
func scanned(data string, piece int) (s *Scanner, passed, whole int, err error) {
	s = &Scanner{}
	for at := 0; at < len(data) && err == nil; at += piece {
		part := data[at:min(at+piece, len(data))]
		var n int
		n, err = s.Scan([]byte(part))
		passed += n
		if err == nil && !s.Inside() {
			whole++
		}
	}
	return s, passed, whole, err
}

func lines(all ...string) string { return strings.Join(all, "\r\n") + "\r\n" }

func TestFramesAreFollowedWhereverTheyAreCut(t *testing.T) {
	for _, frame := range []string{
		"+OK", "+", "-ERR no", ":1", ":-9223372036854775808", ":+7", "_", "#t", ",1.5", ",inf", "(123456789012345678901",
		"$0\r\n", "$5\r\nhello", "$2\r\n\r\n", "$-1", "*-1", "*0", "%0", "!4\r\nERR ", "=7\r\ntxt:abc",
		"*2\r\n:1\r\n$1\r\na", "*2\r\n*1\r\n*0\r\n%1\r\n+a\r\n~1\r\n$-1", ">2\r\n+message\r\n*0",
		"%2\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n:5\r\n_", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1",
	} {
		data := lines(frame, frame)
		for piece := 1; piece <= len(data); piece++ {
			s, passed, _, err := scanned(data, piece)
			require.NoError(t, err, "%q in pieces of %d", data, piece)
			require.Equal(t, len(data), passed)
			require.False(t, s.Inside(), "%q in pieces of %d", data, piece)
		}
		_, _, whole, _ := scanned(data, 1)
		require.Equal(t, 2, whole, "%q", frame)
		s, _, _, err := scanned(data[:len(data)-1], 3)
		require.NoError(t, err)
		require.True(t, s.Inside(), "%q without its end", data)
	}
}

// What a line refuses is not passed on, and nor is what follows it.
func TestWhatNoReplyIsIsNotPassedOn(t *testing.T) {
	const before = "*3\r\n:1\r\n"
	for name, bad := range map[string]string{
		"no type":                      "a\r\n",
		"an attribute":                 "|1\r\n",
		"a streamed string":            "$?\r\n",
		"a streamed array":             "*?\r\n",
		"an empty line":                "\r\n",
		"an empty number":              ":\r\n",
		"an empty length":              "$\r\n",
		"a sign alone":                 ":-\r\n",
		"a sign inside":                ":1-1\r\n",
		"a letter in a number":         ":1x\r\n",
		"a line feed alone":            "+a\n",
		"a number with it":             ":1\n",
		"a carriage return inside":     ":1\r1\r\n",
		"more than 64 bits":            ":9223372036854775808\r\n",
		"less than 64 bits":            ":-9223372036854775809\r\n",
		"20 digits":                    ":00000000000000000001\r\n",
		"a negative length":            "$-2\r\n",
		"a negative array":             "*-10\r\n",
		"null in a longer word":        "*-01\r\n",
		"a plus before a length":       "$+1\r\n",
		"a string too long":            fmt.Sprintf("$%d\r\n", MaxFrame+1),
		"an array too long":            fmt.Sprintf("*%d\r\n", MaxFrame/ValueSize+1),
		"a map too long":               fmt.Sprintf("%%%d\r\n", MaxFrame/ValueSize/2+1),
		"a length beyond 64 bits":      "$18446744073709551617\r\n",
		"a line too long":              "+" + strings.Repeat("a", MaxLine) + "\r\n",
		"an error inside":              "-ERR\r\n",
		"a long error inside":          "!3\r\n",
		"a push inside":                ">1\r\n",
		"null for a key":               "%1\r\n_\r\n",
		"a null string for a key":      "%1\r\n$-1\r\n",
		"an array for a key":           "%1\r\n*0\r\n",
		"an array for a second key":    "%2\r\n+a\r\n*1\r\n:1\r\n*0\r\n",
		"too deep":                     strings.Repeat("*1\r\n", MaxDepth),
		"too long in the end":          fmt.Sprintf("$%d\r\n", MaxFrame-3*ValueSize+1),
		"too many together":            strings.Repeat(fmt.Sprintf("*%d\r\n", MaxFrame/ValueSize/3), 3),
		"too long a map for its pairs": "%9223372036854775807\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			data := before + bad
			last := strings.LastIndexByte(strings.TrimSuffix(data, "\n"), '\n') + 1
			if name == "a carriage return inside" {
				last = len(before)
			}
			s, passed, _, err := scanned(data+"+OK\r\n", len(data)+5)
			var is *Error
			require.ErrorAs(t, err, &is)
			require.Equal(t, last, passed, "%q", err)
			n, again := s.Scan([]byte("+OK\r\n"))
			require.Zero(t, n)
			require.Equal(t, err, again)
			_, passed, _, err = scanned(data, 1)
			require.ErrorAs(t, err, &is, "byte by byte")
			require.Less(t, passed, len(data), "the end of the line is not passed on")
		})
	}
}

// go-redis looks for the name of a push before it reads it, and quotes all that it has if there is none.
func TestAPushHasAName(t *testing.T) {
	for _, bad := range []string{">0\r\n", ">-1\r\n", ">1\r\n:1\r\n", ">1\r\n$-1\r\n", ">1\r\n*0\r\n", ">2\r\n>1\r\n"} {
		_, _, _, err := scanned(bad, 1)
		var is *Error
		require.ErrorAs(t, err, &is, "%q", bad)
	}
	_, _, whole, err := scanned(">2\r\n+a\r\n:1\r\n>1\r\n$1\r\na\r\n", 1)
	require.NoError(t, err)
	require.Equal(t, 2, whole)
}

// What a frame may cost is counted for each frame.
func TestEachFrameHasItsOwnBound(t *testing.T) {
	half := fmt.Sprintf("$%d\r\n%s\r\n", MaxFrame/2, strings.Repeat("x", MaxFrame/2))
	for range 3 {
		_, _, _, err := scanned(strings.Repeat(half, 3), 1<<20)
		require.NoError(t, err)
	}
	_, _, _, err := scanned("*3\r\n"+half+half+half, 1<<20)
	require.ErrorContains(t, err, "32 MB")
}

// pieces is a connection on which reads return these, and then time out.
type pieces struct {
	net.Conn
	left []string
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, p.left[0])
	p.left = p.left[1:]
	return n, nil
}

// A frame that did not end in time has lost its beginning: what comes of it later is no reply.
func TestAConnectionThatTimesOutInsideAFrameIsAtItsEnd(t *testing.T) {
	read := func(conn net.Conn) error {
		_, err := conn.Read(make([]byte, 100))
		return err
	}
	silent := Bound(&pieces{})
	require.ErrorIs(t, read(silent), os.ErrDeadlineExceeded)
	require.ErrorIs(t, read(silent), os.ErrDeadlineExceeded, "between two frames a connection may wait")
	for _, begun := range []string{"*", "$5", "$5\r\nab", "*2\r\n:1\r\n", "+O"} {
		under := &pieces{left: []string{begun}}
		conn := Bound(under)
		require.NoError(t, read(conn))
		require.ErrorIs(t, read(conn), os.ErrDeadlineExceeded)
		under.left = []string{"+OK\r\n"}
		var is *Error
		require.ErrorAs(t, read(conn), &is, "%q", begun)
	}
}

// Bound costs nothing that the collector sees, and little else.
func TestScanningAllocatesNothing(t *testing.T) {
	reply := []byte(lines("*5", ":1", ":170000000000000", ":0", ":1700000000000000", ":0"))
	var s Scanner
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if _, err := s.Scan(reply); err != nil {
			panic(err)
		}
	}))
}

func BenchmarkScan(b *testing.B) {
	for name, reply := range map[string][]byte{
		"an acquisition": []byte(lines("*5", ":1", ":170000000000000", ":0", ":1700000000000000", ":0")),
		"a long string":  []byte(lines("$4000", strings.Repeat("x", 4000))),
	} {
		b.Run(name, func(b *testing.B) {
			var s Scanner
			for b.Loop() {
				_, _ = s.Scan(reply)
			}
		})
	}
}
