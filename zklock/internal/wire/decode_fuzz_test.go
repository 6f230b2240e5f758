package wire

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever comes from a server, nothing panics, no more is returned than was received, and what is not wholly there is
// refused with all values zero or with what could be read of it.
func FuzzDecode(f *testing.F) {
	var names, created, agreed encoder
	names.int(2)
	names.string("a-lock-0000000001")
	names.string("b-lock--2147483648")
	stat(&names, Stat{Children: 2})
	created.string("/a/b-lock-0000000001")
	stat(&created, Stat{Czxid: 1, Owner: 7})
	agreed.int(opCheck)
	agreed.bool(false)
	agreed.int(0)
	agreed.int(-1)
	agreed.bool(true)
	agreed.int(-1)
	for _, seed := range [][]byte{nil, names, created, agreed, {0xff, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := Reply{body: body}
		if all, _, err := r.Children(); err == nil {
			require.LessOrEqual(t, size(all), len(body))
		}
		if all, err := r.Paths(); err == nil {
			require.LessOrEqual(t, size(all), len(body))
		}
		if path, _, err := r.Created(); err == nil {
			require.Len(t, body, 4+len(path)+68)
		}
		if data, _, err := r.Data(); err == nil {
			require.Len(t, body, 4+len(data)+68)
		}
		if _, err := r.Stat(); err == nil {
			require.Len(t, body, 68)
		}
		if r.Agreed() == nil {
			require.Len(t, body, 18)
		}
		if s, err := decodeSession(body); err == nil {
			require.Len(t, body, 21+len(s.Password))
		}
		if packet, err := readPacket(bufio.NewReader(bytes.NewReader(body))); err == nil {
			require.LessOrEqual(t, len(packet), len(body)-4)
		}
		c := &Conn{told: func(path string, _ bool) { require.LessOrEqual(t, len(path), len(body)) }}
		_ = c.take(body)
	})
}

func size(all []string) int {
	n := 4
	for _, one := range all {
		n += 4 + len(one)
	}
	return n
}

// A packet's length allocates nothing by itself.
func TestLengthsAllocateNothing(t *testing.T) {
	var e encoder
	e.int(maxPacket)
	allocated := testing.AllocsPerRun(10, func() {
		_, err := readPacket(bufio.NewReader(bytes.NewReader(e)))
		require.Error(t, err)
	})
	require.Less(t, allocated, 100.0)
}
