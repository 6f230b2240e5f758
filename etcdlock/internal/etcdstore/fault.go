package etcdstore

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/internal/store"
)

// meaning is what an error says of the request that it answers, or that it left without an answer.
//
// What etcd refuses was not done. Where it gives up waiting for its own agreement (a leader is lost, too slow, or
// changes), it may still be done. So may everything that ended with the connection or the time.
func meaning(err error) error {
	if err == nil {
		return nil
	}
	var already *store.Failure
	if errors.As(err, &already) {
		return err
	}
	known := rpctypes.Error(err)
	fault := func(f store.Fault, answered, denied bool) error {
		return &store.Failure{Fault: f, Answered: answered, Denied: denied, Err: err}
	}
	var said rpctypes.EtcdError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault(store.FaultAmbiguous, false, false)
	case !errors.As(known, &said):
		if code := status.Code(err); code == codes.PermissionDenied || code == codes.Unauthenticated {
			return fault(store.FaultDefinite, true, true)
		}
		return fault(store.FaultAmbiguous, false, false)
	}
	if leaderless(err) { // it was not even looked at
		return fault(store.FaultTransient, true, false)
	}
	switch said.Code() {
	case codes.PermissionDenied, codes.Unauthenticated:
		return fault(store.FaultDefinite, true, true)
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown:
		return fault(store.FaultAmbiguous, true, false)
	case codes.InvalidArgument:
		if errors.Is(known, rpctypes.ErrAuthFailed) || errors.Is(known, rpctypes.ErrUserEmpty) {
			return fault(store.FaultDefinite, true, true)
		}
		return fault(store.FaultDefinite, true, false)
	case codes.ResourceExhausted: // too many requests, or no space
		if errors.Is(known, rpctypes.ErrNoSpace) {
			return fault(store.FaultDefinite, true, false)
		}
		return fault(store.FaultTransient, true, false)
	}
	return fault(store.FaultDefinite, true, false)
}

// notSent is the error of a request that was not sent, because something before it failed.
func notSent(err error) error {
	if err == nil {
		return nil
	}
	var known *store.Failure
	if errors.As(err, &known) && known.Fault != store.FaultAmbiguous {
		return err
	}
	return &store.Failure{Fault: store.FaultTransient, Err: err}
}

// answered reports that a request was answered, be it by an error.
func answered(err error) bool {
	var said rpctypes.EtcdError
	var known *store.Failure
	return err == nil || errors.As(rpctypes.Error(err), &said) || errors.As(err, &known) && known.Answered
}

// leaderless reports that a server refused a request because it knows no leader.
func leaderless(err error) bool { return errors.Is(rpctypes.Error(err), rpctypes.ErrNoLeader) }

// leaseless reports that a request was refused because its lease has ended.
func leaseless(err error) bool { return errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound) }

// noSpace reports that etcd refused a write because its database is full. It deletes all the same.
func noSpace(err error) bool { return errors.Is(rpctypes.Error(err), rpctypes.ErrNoSpace) }
