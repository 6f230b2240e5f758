package grpclock_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/adapters/grpclock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// called is the status of a duplex call whose first message and metadata have a name.
func called(ctx context.Context, t *testing.T, c testgrpc.TestServiceClient, name string) error {
	t.Helper()
	stream, err := c.FullDuplexCall(metadata.AppendToOutgoingContext(ctx, "lock", name))
	require.NoError(t, err)
	_ = stream.Send(streaming(name)) // an error is told by Recv
	_ = stream.CloseSend()
	if _, err = stream.Recv(); err == io.EOF {
		return nil
	}
	return err
}

// Both interceptors answer alike.
func TestStreams(t *testing.T) {
	t.Parallel()
	for kind, first := range map[string]bool{"by metadata": false, "by the first message": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			lab := holdfasttest.New(t)
			client := lab.Client(nil)
			locks := of(client, rlock.MaxWait(500*time.Millisecond))
			intercept := grpclock.Stream(locks, fromMetadata)
			if first {
				intercept = grpclock.StreamByFirstMessage(locks, nameOf)
			}
			s := &service{}
			c := serve(t, s, locks, intercept)
			checkStreams(t, lab, client, s, c)
		})
	}
}

func checkStreams(
	t *testing.T, lab *holdfasttest.Lab, client *rlock.Client, s *service, c testgrpc.TestServiceClient,
) {
	l := rlock.New(client, "a")
	s.full = func(stream testgrpc.TestService_FullDuplexCallServer) error {
		_, err := stream.Recv()
		if err != nil {
			return err
		}
		_, err = l.Held(stream.Context())
		return err
	}
	require.NoError(t, called(t.Context(), t, c, "a"))
	requireFree(t, client, "a")
	require.Error(t, called(t.Context(), t, c, ""), "an empty name takes no lock")

	release := lab.HoldElsewhere("a")
	requireCode(t, codes.Aborted, called(t.Context(), t, c, "a"))
	release()

	s.full = func(stream testgrpc.TestService_FullDuplexCallServer) error {
		_, err := stream.Recv()
		assert.NoError(t, err)
		lab.Lose("a", rlock.LossGone)
		assert.ErrorIs(t, context.Cause(stream.Context()), lock.ErrLost)
		return status.Error(codes.NotFound, "no such order")
	}
	requireCode(t, codes.Aborted, called(t.Context(), t, c, "a"))

	s.full = func(stream testgrpc.TestService_FullDuplexCallServer) error {
		_, err := stream.Recv()
		assert.NoError(t, err)
		panic("oops")
	}
	requireCode(t, codes.DataLoss, called(t.Context(), t, c, "a"))
	requireFree(t, client, "a")
}

// The generated code of a call with one request receives it before the handler runs, which so has the hold at once.
func TestOneRequestAndManyAnswers(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	client := lab.Client(nil)
	s := &service{many: func(stream testgrpc.TestService_StreamingOutputCallServer) error {
		_, err := rlock.New(client, "a").Held(stream.Context())
		return err
	}}
	c := serve(t, s, of(client), grpclock.StreamByFirstMessage(of(client), nameOf))
	stream, err := c.StreamingOutputCall(t.Context(), streaming("a"))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	requireFree(t, client, "a")
}

// A handler that hides a refusal, or returns while another goroutine of it still waits for the lock, leaves nothing.
func TestHandlersThatDoNotWait(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	client := lab.Client(nil)
	release := lab.HoldElsewhere("a")
	received := make(chan error, 1)
	s := &service{full: func(stream testgrpc.TestService_FullDuplexCallServer) error {
		go func() {
			_, err := stream.Recv()
			received <- err
		}()
		untilOneWaits(t, client)
		return nil
	}}
	c := serve(t, s, of(client), grpclock.StreamByFirstMessage(of(client), nameOf))
	requireCode(t, codes.Canceled, called(t.Context(), t, c, "a"))
	require.Error(t, <-received)
	release()
	requireFree(t, client, "a")

	release = lab.HoldElsewhere("a")
	s.full = func(stream testgrpc.TestService_FullDuplexCallServer) error {
		_, err := stream.Recv()
		assert.Error(t, err)
		return nil
	}
	short := of(client, rlock.MaxWait(500*time.Millisecond))
	c = serve(t, s, short, grpclock.StreamByFirstMessage(short, nameOf))
	requireCode(t, codes.Aborted, called(t.Context(), t, c, "a"))
	release()
}
