package etcdlock_test

import (
	"context"
	"path"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a client sends: a transaction and a deletion are known by what they do, and everything else has its name in the
// protocol.
const (
	acquiring = "acquire" // puts a key of a lock
	releasing = "release" // deletes one
	reading   = "read"    // polls, or looks at what is held
	writing   = "write"   // puts a key without a lease: the base of tokens, or a note
	renewing  = "LeaseKeepAlive"
)

func kindOf(method string, request any) string {
	txn, is := request.(*pb.TxnRequest)
	if !is {
		if _, deletes := request.(*pb.DeleteRangeRequest); deletes {
			return releasing
		}
		return path.Base(method)
	}
	kind := reading
	for _, op := range txn.Success {
		switch {
		case op.GetRequestDeleteRange() != nil, op.GetRequestTxn() != nil:
			return releasing
		case op.GetRequestPut() == nil:
		case op.GetRequestPut().Lease != 0:
			kind = acquiring
		default:
			kind = writing
		}
	}
	return kind
}

// fate is what becomes of a request.
type fate int

const (
	cutAfter fate = iota // it is carried out, and the connection breaks before the answer comes
	silence              // it is carried out, and there is no answer
	lost                 // it does not arrive
	refused              // the server that it arrives at knows no leader, and says so
	late                 // it arrives when the rule says, and the connection broke long before
	slow                 // it arrives when the rule says, and is answered
)

// wire is the path of clients to etcd. It counts what they send, and a test decides the fate of some of it.
type wire struct {
	mu    sync.Mutex // guards what follows
	sent  map[string]int
	rules []*rule
}

// rule decides the fate of the requests of a kind.
type rule struct {
	kind    string
	fate    fate
	times   int           // how often it still applies; below 0: always
	met     chan struct{} // has an element for each request that it decided, up to some
	arrives chan struct{} // closed when late requests arrive
	done    sync.WaitGroup
}

// options have a client of etcd send on the wire.
func (w *wire) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.unary), grpc.WithChainStreamInterceptor(w.stream)}
}

// on decides the fate of the next request of a kind.
func (w *wire) on(kind string, fate fate) *rule { return w.onEach(kind, fate, 1) }

func (w *wire) onEach(kind string, fate fate, times int) *rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &rule{kind: kind, fate: fate, times: times, met: make(chan struct{}, 100), arrives: make(chan struct{})}
	w.rules = append(w.rules, r)
	return r
}

// off ends all rules.
func (w *wire) off() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = nil
}

func (r *rule) meets() {
	select {
	case r.met <- struct{}{}:
	default:
	}
}

// wait waits until the rule has decided a request.
func (r *rule) wait(t testing.TB) {
	t.Helper()
	await(t, r.met, "a request meets its fate: "+r.kind)
}

// arrive has late requests arrive, and returns when they were carried out.
func (r *rule) arrive() {
	close(r.arrives)
	r.done.Wait()
}

// note counts a request, and returns the rule that decides it, if there is one.
func (w *wire) note(kind string) *rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent == nil {
		w.sent = make(map[string]int)
	}
	w.sent[kind]++
	for _, r := range w.rules {
		if r.kind == kind && r.times != 0 {
			r.times--
			return r
		}
	}
	return nil
}

// count is how many requests of a kind were sent.
func (w *wire) count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[kind]
}

func (w *wire) total() (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.sent {
		n += int64(of)
	}
	return n
}

var errCut = status.Error(codes.Unavailable, "the connection broke")

func (w *wire) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	r := w.note(kindOf(method, req))
	if r == nil {
		return send(ctx, method, req, reply, conn, opts...)
	}
	if r.fate == slow {
		r.meets()
		select {
		case <-r.arrives:
		case <-ctx.Done():
		}
		return send(ctx, method, req, reply, conn, opts...)
	}
	defer r.meets()
	switch r.fate {
	case cutAfter, silence:
		if err := send(ctx, method, req, reply, conn, opts...); err != nil {
			return err
		}
	case late:
		apart := context.WithoutCancel(ctx)
		r.done.Go(func() {
			<-r.arrives
			_ = send(apart, method, req, reply, conn, opts...)
		})
	}
	if r.fate == silence {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return r.says()
}

// says is what the client is told of a request that is not carried out, or whose answer is lost.
func (r *rule) says() error {
	if r.fate == refused {
		return rpctypes.ErrGRPCNoLeader
	}
	return errCut
}

// stream is a stream that is opened: it is no request, but each renewal that is sent on one is.
func (w *wire) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	kind := path.Base(method)
	if kind != renewing {
		if r := w.note(kind); r != nil {
			r.meets()
			return nil, r.says()
		}
	}
	opened, err := open(ctx, desc, conn, method, opts...)
	if err != nil || kind != renewing {
		return opened, err
	}
	return &renewals{opened, w}, nil
}

// renewals is the stream on which a client renews its lease.
type renewals struct {
	grpc.ClientStream
	wire *wire
}

func (s *renewals) SendMsg(m any) error {
	if r := s.wire.note(renewing); r != nil {
		r.meets()
		return r.says()
	}
	return s.ClientStream.SendMsg(m)
}
