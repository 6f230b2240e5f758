package grpclock_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/holdfast-go/holdfast/adapters/grpclock"
)

// service is gRPC's own test service, with handlers that the test gives.
type service struct {
	testgrpc.UnimplementedTestServiceServer
	unary func(ctx context.Context) error
	full  func(stream testgrpc.TestService_FullDuplexCallServer) error
	many  func(stream testgrpc.TestService_StreamingOutputCallServer) error
}

func (s *service) UnaryCall(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	return &testgrpc.SimpleResponse{Username: "done"}, s.unary(ctx)
}

func (s *service) FullDuplexCall(stream testgrpc.TestService_FullDuplexCallServer) error {
	return s.full(stream)
}

func (s *service) StreamingOutputCall(
	_ *testgrpc.StreamingOutputCallRequest, stream testgrpc.TestService_StreamingOutputCallServer,
) error {
	return s.many(stream)
}

// nameOf is the name that a request carries.
func nameOf(_ context.Context, _ string, request any) string {
	return string(request.(interface{ GetPayload() *testgrpc.Payload }).GetPayload().GetBody())
}

// fromMetadata is the name that the metadata of a call carries.
func fromMetadata(ctx context.Context, _ string) string {
	if names := metadata.ValueFromIncomingContext(ctx, "lock"); len(names) > 0 {
		return names[0]
	}
	return ""
}

func simple(name string) *testgrpc.SimpleRequest {
	return &testgrpc.SimpleRequest{Payload: &testgrpc.Payload{Body: []byte(name)}}
}

func streaming(name string) *testgrpc.StreamingOutputCallRequest {
	return &testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: []byte(name)}}
}

// recovers turns a panic into a status, outside of the interceptors of this package.
func recovers(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (response any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(codes.DataLoss, "%v", p)
		}
	}()
	return next(ctx, request)
}

func recoversStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(codes.DataLoss, "%v", p)
		}
	}()
	return next(srv, ss)
}

// serve starts a server with the service, and returns a client of it.
func serve(
	t *testing.T, s *service, locks grpclock.Locks, stream grpc.StreamServerInterceptor,
) testgrpc.TestServiceClient {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(recovers, grpclock.Unary(locks, nameOf)),
		grpc.ChainStreamInterceptor(recoversStream, stream))
	testgrpc.RegisterTestServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NoError(t, <-served)
	})
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return testgrpc.NewTestServiceClient(conn)
}
