package wire

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnswersComeInOrder(t *testing.T) {
	c, p := attached(t, nil)
	got := sent(t, c, Delete("/a"), Exists("/b", true))
	first, op, body := p.asked()
	require.EqualValues(t, opDelete, op)
	require.Equal(t, "/a", body.string())
	require.EqualValues(t, AnyVersion, body.int())
	require.NoError(t, body.end("a request"))
	second, op, body := p.asked()
	require.EqualValues(t, opExists, op)
	require.Equal(t, "/b", body.string())
	require.True(t, body.bool())
	require.Greater(t, second, first)

	p.answers(first, 5, NoNode, nil)
	var e encoder
	stat(&e, Stat{Czxid: 3, Owner: 7})
	p.answers(second, 6, 0, e)
	r := <-got
	require.NoError(t, r.err)
	require.EqualValues(t, 5, r.replies[0].Zxid)
	require.ErrorIs(t, r.replies[0].Err, NoNode)
	s, err := r.replies[1].Stat()
	require.NoError(t, err)
	require.EqualValues(t, 3, s.Czxid)
	require.EqualValues(t, 7, s.Owner)
}

func stat(e *encoder, s Stat) {
	e.long(s.Czxid)
	e.long(0)
	e.long(s.Ctime)
	e.long(0)
	e.int(s.Version)
	e.int(0)
	e.int(0)
	e.long(s.Owner)
	e.int(0)
	e.int(s.Children)
	e.long(0)
}

// With numbers that begin anew, a server may give the answer to a request of an earlier connection of the session.
func TestNumbersGoOnOverConnections(t *testing.T) {
	c, p := attached(t, nil)
	got := sent(t, c, Get("/a"))
	first, _, _ := p.asked()
	c.Drop()
	require.ErrorIs(t, (<-got).err, ErrLost)

	next, q := dialer(t)
	next.numbers.Store(c.dialer.numbers.Load())
	go func() {
		_, _ = readPacket(q.in)
		q.grants(known)
	}()
	d, err := next.Attach(within(t), "b:2181", c.Session, nil)
	require.NoError(t, err)
	defer next.Wait()
	defer d.Drop()
	sent(t, d, Get("/a"))
	second, _, _ := q.asked()
	require.Greater(t, second, first)
}

// What a server sends that is no answer to the oldest request ends the connection, and all requests with it.
func TestNonsenseEndsTheConnection(t *testing.T) {
	for what, answer := range map[string]func(p *peer, number int32){
		"another number": func(p *peer, number int32) { p.answers(number+1, 1, 0, nil) },
		"a short head":   func(p *peer, _ int32) { p.writes(func(e *encoder) { e.int(1) }) },
		"a short event":  func(p *peer, _ int32) { p.answers(numberEvent, 1, 0, []byte{1}) },
		"a huge packet":  func(p *peer, _ int32) { _, _ = p.conn.Write([]byte{0x7f, 0xff, 0xff, 0xff}) },
	} {
		t.Run(what, func(t *testing.T) {
			c, p := attached(t, nil)
			got := sent(t, c, Get("/a"))
			number, _, _ := p.asked()
			answer(p, number)
			r := <-got
			require.ErrorIs(t, r.err, ErrLost)
			require.ErrorIs(t, r.err, ErrNonsense)
			<-c.Lost()
			require.ErrorIs(t, c.Why(), ErrNonsense)
		})
	}
}

// A request that the server does not know is answered at once, before those that are under way, and ends the connection.
// That is the reason that all of them are told. (defect G71)
func TestARequestThatTheServerDoesNotKnow(t *testing.T) {
	c, p := attached(t, nil)
	got := sent(t, c, Agree(), Ephemerals())
	_, _, _ = p.asked()
	number, _, _ := p.asked()
	p.answers(number, 1, Unimplemented, nil)
	r := <-got
	require.ErrorIs(t, r.err, ErrLost)
	require.ErrorIs(t, r.err, Unimplemented)
	require.NotErrorIs(t, r.err, ErrNonsense)
	require.Empty(t, r.replies)
}

func TestEventsAreTold(t *testing.T) {
	type event struct {
		path    string
		deleted bool
	}
	told := make(chan event, 1)
	c, p := attached(t, func(path string, deleted bool) { told <- event{path, deleted} })
	for kind, deleted := range map[int32]bool{1: false, 2: true, 3: false, 4: false} {
		var e encoder
		e.int(kind)
		e.int(3)
		e.string("/a/b")
		p.answers(numberEvent, -1, 0, e)
		require.Equal(t, event{"/a/b", deleted}, <-told)
	}
	p.answers(numberPing, 0, 0, nil)
	require.NoError(t, c.Why())
}

// What was answered before the connection was lost is told beside the error.
func TestAnswersBeforeALoss(t *testing.T) {
	c, p := attached(t, nil)
	got := sent(t, c, Delete("/a"), Delete("/b"))
	number, _, _ := p.asked()
	p.answers(number, 1, SessionExpired, nil)
	require.NoError(t, p.conn.Close())
	r := <-got
	require.ErrorIs(t, r.err, ErrLost)
	require.Len(t, r.replies, 1)
	require.ErrorIs(t, r.replies[0].Err, SessionExpired)
	_, err := c.Do(within(t), Get("/a"))
	require.ErrorIs(t, err, ErrUnsent)
}

// A request ends with its context though the server reads nothing, and the answer that comes later is not another's.
func TestRequestsEndWithTheirContexts(t *testing.T) {
	c, p := attached(t, nil)
	ctx, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	_, err := c.Do(ctx, Get("/a"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrLost)
	first, _, _ := p.asked()
	got := sent(t, c, Delete("/b"))
	second, _, _ := p.asked()
	p.answers(first, 1, NoAuth, nil)
	p.answers(second, 2, 0, nil)
	r := <-got
	require.NoError(t, r.err)
	require.NoError(t, r.replies[0].Err)
}

func TestHandshake(t *testing.T) {
	attach := func(t *testing.T, s Session, plays func(p *peer)) (Session, error) {
		t.Helper()
		d, p := dialer(t)
		done := make(chan struct{})
		go func() { defer close(done); plays(p) }()
		c, err := d.Attach(within(t), "a:2181", s, nil)
		<-done
		if err != nil {
			require.Nil(t, c)
			return Session{}, err
		}
		c.Drop()
		d.Wait()
		return c.Session, nil
	}
	t.Run("a session is made", func(t *testing.T) {
		got, err := attach(t, Session{Timeout: 10 * time.Second}, func(p *peer) {
			d := p.reads()
			d.int()
			require.Zero(p.t, d.long(), "no server is refused for what it has not seen")
			require.EqualValues(p.t, 10_000, d.int())
			require.Zero(p.t, d.long())
			require.Equal(p.t, make([]byte, passwordSize), d.bytes())
			p.grants(known)
		})
		require.NoError(t, err)
		require.Equal(t, known, got)
	})
	t.Run("a session is over", func(t *testing.T) {
		_, err := attach(t, known, func(p *peer) { p.reads(); p.grants(Session{Password: make([]byte, passwordSize)}) })
		require.ErrorIs(t, err, ErrOver)
	})
	t.Run("another session is given", func(t *testing.T) {
		_, err := attach(t, known, func(p *peer) { p.reads(); p.grants(Session{ID: 8, Timeout: time.Second}) })
		var other *OtherSessionError
		require.ErrorAs(t, err, &other)
	})
	t.Run("the server hangs up", func(t *testing.T) {
		_, err := attach(t, known, func(p *peer) { p.reads(); _ = p.conn.Close() })
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorIs(t, err, io.EOF)
	})
	t.Run("nonsense", func(t *testing.T) {
		_, err := attach(t, known, func(p *peer) { p.reads(); p.writes(func(e *encoder) { e.long(0) }) })
		require.ErrorIs(t, err, ErrNonsense)
	})
}

// A server that stands still does not hold an attachment up.
func TestHandshakeEndsWithItsContext(t *testing.T) {
	d, _ := dialer(t)
	ctx, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	_, err := d.Attach(ctx, "a:2181", known, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
