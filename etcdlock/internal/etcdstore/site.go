package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// VersionError says that a server is too old for locks: a deposed leader of it may renew leases that are over, or end
// those that are not (etcd issues 15247 and 20590).
type VersionError struct{ Endpoint, Version string }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the server at %s is etcd %s, which may keep or end leases wrongly when its leader changes: "+
		"use 3.5.23, 3.6.5 or newer", e.Endpoint, e.Version)
}

// TooOld reports that a version of etcd is not fit for locks.
func TooOld(version string) bool {
	var n [3]int
	version, _, _ = strings.Cut(version, "-")
	for i, part := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(part)
	}
	switch {
	case n[0] != 3:
		return n[0] < 3
	case n[1] == 5:
		return n[2] < 23
	case n[1] == 6:
		return n[2] < 5
	}
	return n[1] < 5
}

// checkVersions asks all servers for their versions, beside one another and in half of the time that there is: one that
// is down or stands still must not keep a new client from the others. It is looked at by nobody, and cannot answer
// anything else either.
func (s *Store) checkVersions(ctx context.Context) error {
	at, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(at)/2)
	defer cancel()
	endpoints := s.cli.Endpoints()
	found, clusters := make([]error, len(endpoints)), make([]uint64, len(endpoints))
	var asking sync.WaitGroup
	for i, endpoint := range endpoints {
		asking.Go(func() { clusters[i], found[i] = s.checkVersion(ctx, endpoint) })
	}
	asking.Wait()
	var old *VersionError
	answered := false
	for _, err := range found {
		if errors.As(err, &old) {
			return err
		}
		answered = answered || err == nil
	}
	if !answered {
		return notSent(errors.Join(found...))
	}
	return ofOne(endpoints, clusters)
}

// ofOne is the error of endpoints whose servers are of several clusters, each of which would grant the same lock. Of a
// server that did not answer the cluster is 0.
func ofOne(endpoints []string, clusters []uint64) error {
	first := -1
	for i, cluster := range clusters {
		switch {
		case cluster == 0:
		case first < 0:
			first = i
		case cluster != clusters[first]:
			return &store.Failure{Fault: store.FaultDefinite, Answered: true, Err: fmt.Errorf(
				"the endpoints lead to servers of different clusters: %s to one of %x, and %s to one of %x",
				endpoints[first], clusters[first], endpoints[i], cluster)}
		}
	}
	return nil
}

// status asks a server by a connection of its own.
func (s *Store) status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	return clientv3.NewMaintenance(s.routes.apart()).Status(ctx, endpoint)
}

func (s *Store) checkVersion(ctx context.Context, endpoint string) (cluster uint64, err error) {
	status, err := s.status(ctx, endpoint)
	switch {
	case err != nil:
		return 0, meaning(err)
	case TooOld(status.Version):
		return 0, &store.Failure{
			Fault: store.FaultDefinite, Answered: true, Err: &VersionError{endpoint, status.Version},
		}
	}
	return status.Header.GetClusterId(), nil
}

// Server is what a server says of itself.
type Server struct {
	Version         string
	Leader, Learner bool // it knows a leader; it has no vote
	NoSpace         bool
	Size, Quota     int64 // of its database, in bytes; a quota of 0 is not known
}

// Server asks a server about itself.
func (s *Store) Server(ctx context.Context, endpoint string) (found Server, err error) {
	sent, cancel, err := s.bound(ctx)
	if err != nil {
		return found, err
	}
	defer cancel()
	status, err := s.status(sent, endpoint)
	if err != nil {
		return found, meaning(err)
	}
	for _, problem := range status.Errors {
		found.NoSpace = found.NoSpace || strings.Contains(problem, "NOSPACE")
	}
	found.Version, found.Leader, found.Learner = status.Version, status.Leader != 0, status.IsLearner
	found.Size, found.Quota = status.DbSize, status.DbSizeQuota
	return found, nil
}
