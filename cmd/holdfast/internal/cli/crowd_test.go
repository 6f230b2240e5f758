package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// crowded is a place with so many locks of somebody else's, named crowd:1 and so on, among as many other keys.
func crowded(t *testing.T, locks int) *place {
	t.Helper()
	p := newPlace(t)
	const fill = `for i = 1, ARGV[2] do
	redis.call('HSET', 'crowd:' .. i, ARGV[1], '1')
	redis.call('PEXPIRE', 'crowd:' .. i, 3600000)
	redis.call('SET', 'stranger:' .. i, 'x')
end
return 1`
	require.NoError(t, p.rdb.Eval(t.Context(), fill, nil, java+":1", locks).Err())
	return p
}

// census sees what a client sends and gets.
type census struct {
	mu                  sync.Mutex // guards all
	sent, asked, most   int        // bytes: all, since the last reply, the most of that
	got, reply, longest int        // the same of replies
	scans               int
	onScan              func(n int) // called for each, if set
}

// sensed is a connection that a census sees.
type sensed struct {
	net.Conn
	*census
}

func (c sensed) Write(text []byte) (int, error) {
	c.mu.Lock()
	c.sent, c.asked, c.reply = c.sent+len(text), c.asked+len(text), 0
	c.most = max(c.most, c.asked)
	scan := bytes.Contains(text, []byte("\r\nscan\r\n"))
	if scan {
		c.scans++
	}
	n := c.scans
	c.mu.Unlock()
	if scan && c.onScan != nil {
		c.onScan(n)
	}
	return c.Conn.Write(text)
}

func (c sensed) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got, c.reply, c.asked = c.got+n, c.reply+n, 0
	c.longest = max(c.longest, c.reply)
	return n, err
}

// counted is a client of the place whose connections a census sees.
func (p *place) counted(t *testing.T) (*rlock.Client, *census) {
	t.Helper()
	c := &census{}
	rdb := redis.NewClient(&redis.Options{
		Addr: p.server.Addr(),
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return sensed{conn, c}, err
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client, c
}

const crowd = 10_000

// However many keys there are, each command and each pipeline is small: others get their turn in between.
func TestTenThousandLocksAreListedInSmallSteps(t *testing.T) {
	t.Parallel()
	p := crowded(t, crowd)
	names := make(map[string]bool)
	for _, v := range read[[]lockView](t, p, 0, "list", "--match", "crowd:*") {
		names[string(v.Name)] = true
	}
	for i := range crowd {
		require.True(t, names[fmt.Sprintf("crowd:%d", i+1)], i+1)
	}
	require.Len(t, names, crowd)

	client, seen := p.counted(t)
	locks, _, err := collect(t.Context(), client, &listFlags{match: "*"})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(locks), crowd)
	assert.GreaterOrEqual(t, seen.scans, 2*crowd/1000, "a thousand keys in a step at most")
	assert.Less(t, seen.most, seen.sent/10, "bytes sent before a reply")
	assert.Less(t, seen.longest, seen.got/10, "bytes of one reply")
	stats, err := p.rdb.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	assert.Contains(t, stats, "cmdstat_scan:")
	assert.NotContains(t, stats, "cmdstat_keys:")
}

// heap is a writer that notes how much is in use while it gets a table.
type heap struct{ inUse []uint64 }

func (h *heap) Write(text []byte) (int, error) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.inUse = append(h.inUse, m.HeapAlloc)
	return len(text), nil
}

// Not parallel: it looks at the memory of the process.
func TestAWatchOfTenThousandLocksDoesNotGrow(t *testing.T) {
	p := crowded(t, crowd)
	client, _ := p.counted(t)
	tables := &heap{}
	f := &watchFlags{listFlags: listFlags{match: "crowd:*"}, interval: time.Millisecond, count: 6}
	require.NoError(t, (&globals{output: asJSON}).watch(t.Context(), tables, io.Discard, &connection{client: client}, f))
	require.Len(t, tables.inUse, 6)
	assert.Less(t, tables.inUse[5], tables.inUse[0]+tables.inUse[0]/2, "%v", tables.inUse)
}

func TestWatchEndsInTheMiddleOfAList(t *testing.T) {
	t.Parallel()
	p := crowded(t, crowd)
	client, seen := p.counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen.onScan = func(n int) {
		if n == 3 {
			cancel()
		}
	}
	var out bytes.Buffer
	f := &watchFlags{listFlags: listFlags{match: "*"}, interval: time.Second}
	require.NoError(t, (&globals{output: text}).watch(ctx, &out, io.Discard, &connection{client: client}, f))
	assert.Empty(t, out.String(), "no half of a table")
	assert.LessOrEqual(t, seen.scans, 3)
}

// A reader that does not read keeps nobody from ending watch.
func TestWatchEndsAlthoughNobodyReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	client, _ := p.counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		f := &watchFlags{listFlags: listFlags{match: "*"}, interval: time.Second}
		ended <- (&globals{output: asJSON}).watch(ctx, writer, io.Discard, &connection{client: client}, f)
	}()
	first := make([]byte, 1) // of "[]": the rest of the table is under way
	_, err := io.ReadFull(reader, first)
	require.NoError(t, err)
	cancel()
	require.NoError(t, redistest.Receive(t, time.Minute, ended, "watch goes on"))
	require.NoError(t, reader.Close()) // the process would have ended; here the writer has to
}
