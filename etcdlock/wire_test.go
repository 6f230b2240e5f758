package etcdlock_test

import (
	"context"
	"path"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/internal/testkit/fates"
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

// wire is the path of clients to etcd. A server that refuses a request says that it knows no leader.
type wire struct{ fates.Wire }

// options have a client of etcd send on the wire.
func (w *wire) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.unary), grpc.WithChainStreamInterceptor(w.stream)}
}

var errCut = status.Error(codes.Unavailable, "the connection broke")

func (w *wire) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	r := w.Note(kindOf(method, req))
	if r == nil {
		return send(ctx, method, req, reply, conn, opts...)
	}
	if r.Fate == fates.Slow {
		r.Meets()
		select {
		case <-r.Arrives:
		case <-ctx.Done():
		}
		return send(ctx, method, req, reply, conn, opts...)
	}
	defer r.Meets()
	switch r.Fate {
	case fates.CutAfter, fates.Silence:
		if err := send(ctx, method, req, reply, conn, opts...); err != nil {
			return err
		}
	case fates.Late:
		apart := context.WithoutCancel(ctx)
		r.Done.Go(func() {
			<-r.Arrives
			_ = send(apart, method, req, reply, conn, opts...)
		})
	}
	if r.Fate == fates.Silence {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return says(r)
}

// says is what the client is told of a request that is not carried out, or whose answer is lost.
func says(r *fates.Rule) error {
	if r.Fate == fates.Refused {
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
		if r := w.Note(kind); r != nil {
			r.Meets()
			return nil, says(r)
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
	if r := s.wire.Note(renewing); r != nil {
		r.Meets()
		return says(r)
	}
	return s.ClientStream.SendMsg(m)
}
