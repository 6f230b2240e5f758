package frames

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// served is a connection to a server that refuses the greeting, answers the next request with bytes in pieces of that
// size, and hangs up.
type served struct {
	net.Conn
	left, later []byte
	piece       int
}

func serve(data []byte, piece int) *served { return &served{later: data, piece: piece} }

func (s *served) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.left[:min(s.piece, len(s.left))])
	s.left = s.left[n:]
	return n, nil
}

func (s *served) Write(p []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(p), []byte("hello")) {
		s.left = []byte("-ERR unknown command\r\n")
	} else {
		s.left, s.later = append(s.left, s.later...), nil
	}
	return len(p), nil
}

func (*served) Close() error                     { return nil }
func (*served) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*served) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*served) SetDeadline(time.Time) error      { return nil }
func (*served) SetReadDeadline(time.Time) error  { return nil }
func (*served) SetWriteDeadline(time.Time) error { return nil }

// readBy returns how many replies the reader of go-redis makes of the bytes, read as replies of that kind.
func readBy(t *testing.T, conn net.Conn, replies int, kind func(ctx context.Context) redis.Cmder) (whole int) {
	rdb := redis.NewClient(&redis.Options{
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, PipelinePoolSize: -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	})
	defer func() { _ = rdb.Close() }()
	one := rdb.Conn()
	defer func() { _ = one.Close() }()
	for range replies {
		err := one.Process(t.Context(), kind(t.Context()))
		if said := redis.Error(nil); err != nil && !errors.As(err, &said) {
			break
		}
		whole++
	}
	return whole
}

// kinds are the readers that a lock's commands have, which read what they expect without looking at its type first.
var kinds = map[string]func(ctx context.Context) redis.Cmder{
	"anything":     func(ctx context.Context) redis.Cmder { return redis.NewCmd(ctx, "a") },
	"integers":     func(ctx context.Context) redis.Cmder { return redis.NewIntSliceCmd(ctx, "a") },
	"the greeting": func(ctx context.Context) redis.Cmder { return redis.NewMapStringInterfaceCmd(ctx, "a") },
	"a map":        func(ctx context.Context) redis.Cmder { return redis.NewClusterSlotsCmd(ctx, "a") },
	"commands":     func(ctx context.Context) redis.Cmder { return redis.NewCommandsInfoCmd(ctx, "a") },
	"a scan":       func(ctx context.Context) redis.Cmder { return redis.NewScanCmd(ctx, nil, "a") },
	"fields":       func(ctx context.Context) redis.Cmder { return redis.NewKeyValueSliceCmd(ctx, "a") },
	"scores":       func(ctx context.Context) redis.Cmder { return redis.NewZSliceCmd(ctx, "a") },
	"listeners":    func(ctx context.Context) redis.Cmder { return redis.NewMapStringIntCmd(ctx, "a") },
	"a time":       func(ctx context.Context) redis.Cmder { return redis.NewTimeCmd(ctx, "a") },
}

// FuzzFrames compares the scanner with go-redis: what it lets through is read in the same frames, without a panic, and
// with bounded memory (defect F5).
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"$9223372036854775807\r\n", "*100000000000\r\n", "*1\r\n*1000000\r\n*1000000\r\n", "*0\r\n*-1\r\n$-1\r\n", "%1\r\n_\r\n+a\r\n",
		"|1\r\n+a\r\n+b\r\n:1\r\n", ">2\r\n+a\r\n*0\r\n:1\r\n", "*2\r\n-ERR\r\n:1\r\n:2\r\n", "%1\r\n*0\r\n*0\r\n", "=3\r\ntxt\r\n",
		"*5\r\n:1\r\n:2\r\n$1\r\n3\r\n+4\r\n_\r\n$2\r\nab\r\n", "*1\r\n*5\r\n:0\r\n:1\r\n*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*0\r\n",
		"*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n", ",nan\r\n#t\r\n(12\r\n!3\r\nERR\r\n~1\r\n:1\r\n", "+a\n:1\r\r\n$1\r\na\r\n",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		size := int(piece)%64 + 1
		_, passed, whole, err := scanned(string(data), 1)
		_, inPieces, _, again := scanned(string(data), size)
		require.Equal(t, err, again, "pieces of %d", size)
		require.LessOrEqual(t, inPieces, passed)
		if whole > 1000 {
			return
		}
		before := allocated()
		for name, kind := range kinds {
			read := readBy(t, Bound(serve(data, size)), whole+1, kind)
			require.LessOrEqual(t, read, whole+1, name)
			if name == "anything" {
				require.LessOrEqual(t, read, whole, "no more replies than frames")
			}
			if name == "anything" && err == nil && !bytes.ContainsAny(data, ",#(=") { // whose text may be wrong
				require.Equal(t, whole, read, "no fewer either")
			}
		}
		require.Less(t, allocated()-before, uint64(len(kinds)*(3*MaxFrame+100*len(data))))
	})
}

// allocated is how many bytes were allocated so far.
func allocated() uint64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}
