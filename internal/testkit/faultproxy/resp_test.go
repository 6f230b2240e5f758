package faultproxy

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// values is one of each type of RESP, each a whole value.
var values = []string{
	"+OK\r\n", "-ERR no\r\n", ":42\r\n", "$5\r\na\r\nbc\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n",
	"*0\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", ",inf\r\n", "(34928903284093284\r\n",
	"!9\r\nSYNTAX no\r\n", "=7\r\ntxt:abc\r\n", "~2\r\n:1\r\n:2\r\n",
	"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n",
	"*2\r\n*1\r\n$1\r\na\r\n%1\r\n+k\r\n_\r\n", ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n",
	"|1\r\n+ttl\r\n:9\r\n*1\r\n|1\r\n+x\r\n+y\r\n:1\r\n", "%0\r\n",
}

func TestReadValueKeepsEveryByte(t *testing.T) {
	stream := strings.Join(values, "")
	for _, reader := range []io.Reader{
		strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream)),
	} {
		r := bufio.NewReader(reader)
		for _, want := range values {
			v, err := readValue(r)
			require.NoError(t, err, "%q", want)
			require.Equal(t, want, string(v.raw))
		}
		_, err := readValue(r)
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestReadValueTellsTypeAndFirstWords(t *testing.T) {
	v, err := readValue(bufio.NewReader(strings.NewReader(
		"|1\r\n+a\r\n*2\r\n+b\r\n+c\r\n>3\r\n$7\r\nMessage\r\n+ch\r\n$1\r\nm\r\n")))
	require.NoError(t, err)
	require.Equal(t, byte('>'), v.kind)
	require.Equal(t, "message", v.word())
	require.Equal(t, "ch", string(v.words[1]))
	v, err = readValue(bufio.NewReader(strings.NewReader("*1\r\n*1\r\n+nested\r\n")))
	require.NoError(t, err)
	require.Empty(t, v.word())
}

func TestLinesLongerThanTheBuffer(t *testing.T) {
	long := "+" + strings.Repeat("x", 100_000) + "\r\n"
	v, err := readValue(bufio.NewReaderSize(strings.NewReader(long), 16))
	require.NoError(t, err)
	require.Equal(t, long, string(v.raw))
}

func TestReadRequest(t *testing.T) {
	wire := "*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\nping  x\r\n*0\r\n"
	r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(wire)))
	raw, args, err := readRequest(r)
	require.NoError(t, err)
	require.Equal(t, "*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n", string(raw))
	require.Equal(t, [][]byte{[]byte("SET"), []byte("a\r\n"), {}}, args)
	_, args, err = readRequest(r)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("ping"), []byte("x")}, args)
	_, args, err = readRequest(r)
	require.NoError(t, err)
	require.Empty(t, args)
}

func TestDamageIsAnError(t *testing.T) {
	for _, wire := range []string{"?\r\n", "*x\r\n", "$1\r\n", "\n", "\r\n", "*1\r\n?\r\n",
		strings.Repeat("*1\r\n", 100) + ":1\r\n"} {
		_, err := readValue(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, err, "%q", wire)
	}
	for _, wire := range []string{"*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*x\r\n", "*1\r\n$9\r\nab"} {
		_, _, err := readRequest(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, err, "%q", wire)
	}
}

// FuzzReadValue checks that no input makes the parser panic or lose bytes.
func FuzzReadValue(f *testing.F) {
	for _, v := range values {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, wire string) {
		v, err := readValue(bufio.NewReader(strings.NewReader(wire)))
		if err == nil && !strings.HasPrefix(wire, string(v.raw)) {
			t.Fatalf("%q was read as %q", wire, v.raw)
		}
	})
}
