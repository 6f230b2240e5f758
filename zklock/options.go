package zklock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
	"github.com/holdfast-go/holdfast/zklock/internal/zkstore"
)

// Store is what an Observer is told of these locks, as a label.
const Store lock.Store = "zookeeper"

// Options adjust a [Client]. The zero value of each means its default.
type Options struct {
	// Lease is the time of the Client's session: for how long ZooKeeper keeps what it holds if the session is not
	// renewed, and so the time after which others get the locks of a process that died. It is renewed every third of
	// that. Zero means 30 seconds. It must be 4 seconds at least; a server must be ready to grant it, which by default
	// is two to twenty of its ticks, 4 to 40 seconds. A leader that stands still ends holds whose lease is shorter than
	// about 16 seconds.
	Lease time.Duration

	// MaxPoll is how often a waiter asks again that heard of no release. Zero means a second.
	MaxPoll time.Duration

	// MaxWait limits how long Lock waits, for handles without an option of their own. Zero means no limit.
	MaxWait time.Duration

	// ReleaseTimeout limits how long unlock and Close wait for ZooKeeper. Zero means 5 seconds.
	ReleaseTimeout time.Duration

	// Root is the path of the node below which the locks are: a lock's node is at Root + "/" + name. Programs that lock
	// with Curator use that path. Zero means "/holdfast/locks".
	Root string

	// Own is the path of the node below which the base of tokens is kept. All clients of an ensemble use the same one.
	// Zero means "/holdfast".
	Own string

	// Auth is what the Client says of itself on each connection. Nil means nothing.
	Auth []Auth

	// ACL is that of every node that the Client makes. Nil means that whoever authenticated as Auth says may do
	// everything, and without Auth that everybody may.
	ACL []ACL

	// TLS has connections be encrypted. Nil means that they are not. Without a ServerName, that is each server's host.
	TLS *tls.Config

	// Dial opens the connections. Nil means a net.Dialer. It must return when its context ends.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Observer receives events, for metrics and traces. Nil costs nothing.
	Observer *lock.Observer

	// Logger receives what an operator should know, as rlock.ClientOptions.Logger does. Nil means slog.Default().
	Logger *slog.Logger
}

// Auth says who a client is, such as {"digest", "user:password"}.
type Auth struct{ Scheme, Secret string }

// ACL allows something to somebody, such as {PermAll, "digest", "user:hash"}. Perms are those of ZooKeeper.
type ACL struct {
	Perms      int32
	Scheme, ID string
}

// The permissions of an [ACL].
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll          = wire.All
)

const (
	defaultRoot = "/holdfast/locks"
	defaultOwn  = "/holdfast"
)

// checked returns a checked copy with the defaults filled in, and the options that the clients of all stores have.
func (o Options) checked() (Options, client.Options, error) {
	general, err := client.Options{
		Lease: o.Lease, MaxPoll: o.MaxPoll, MaxWait: o.MaxWait, ReleaseTimeout: o.ReleaseTimeout, Observer: o.Observer,
		Logger: o.Logger,
	}.Checked()
	err = named(err)
	if err == nil {
		err = zkstore.BadLease("Options.Lease", general.Lease)
	}
	if o.Root == "" {
		o.Root = defaultRoot
	}
	if o.Own == "" {
		o.Own = defaultOwn
	}
	if err == nil {
		err = badPath("Options.Root", o.Root)
	}
	if err == nil {
		err = badPath("Options.Own", o.Own)
	}
	if err == nil {
		err = badRights(o.Auth, o.ACL)
	}
	return o, general, err
}

// named is an error about an option that the clients of all stores have, with the name that it has here.
func named(err error) error {
	var bad *lock.ArgumentError
	if !errors.As(err, &bad) {
		return err
	}
	return &lock.ArgumentError{
		Name: "Options" + strings.TrimPrefix(bad.Name, "ClientOptions"), Value: bad.Value, Problem: bad.Problem,
	}
}

// badPath is the error of an option with a path that ZooKeeper does not accept, or that is its own.
func badPath(option, path string) error {
	bad := func(problem string) error {
		return &lock.ArgumentError{Name: option, Value: path, Problem: problem}
	}
	if !strings.HasPrefix(path, "/") {
		return bad(`must begin with "/"`)
	}
	if path == "/" {
		return nil
	}
	if len(path) > maxPath {
		return bad(fmt.Sprintf("must be at most %d bytes long", maxPath))
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return bad(`must have no empty component, no "." and no ".."`)
		}
	}
	if r, refused := zkstore.RefusedIn(path); refused {
		return bad(fmt.Sprintf("must not have the character %U, which ZooKeeper refuses", r))
	}
	if strings.HasPrefix(path+"/", "/zookeeper/") {
		return bad("must not be below /zookeeper, which is ZooKeeper's own")
	}
	return nil
}

// maxPath bounds the options that are paths.
const maxPath = 1024

// badRights is the error of what a client says of itself, or of an ACL, that no server could accept.
func badRights(auth []Auth, acl []ACL) error {
	for _, one := range auth {
		if one.Scheme == "" {
			return &lock.ArgumentError{Name: "Options.Auth", Problem: "must have a scheme"}
		}
	}
	if acl != nil && len(acl) == 0 {
		return &lock.ArgumentError{Name: "Options.ACL", Problem: "must allow something to somebody, or be nil"}
	}
	for _, one := range acl {
		if one.Perms <= 0 || one.Perms&^PermAll != 0 {
			return &lock.ArgumentError{
				Name: "Options.ACL", Value: one.Perms, Problem: "must have permissions of ZooKeeper, and no other bits",
			}
		}
		if one.Scheme == "" {
			return &lock.ArgumentError{Name: "Options.ACL", Problem: "must have a scheme"}
		}
	}
	return nil
}

// rights are what the store says of the client, and the ACL of every node that it makes.
func (o *Options) rights() (auth []wire.Auth, acl []wire.ACL) {
	for _, one := range o.Auth {
		auth = append(auth, wire.Auth(one))
	}
	for _, one := range o.ACL {
		acl = append(acl, wire.ACL(one))
	}
	switch {
	case acl != nil:
	case auth != nil:
		acl = []wire.ACL{{Perms: wire.All, Scheme: "auth"}}
	default:
		acl = []wire.ACL{{Perms: wire.All, Scheme: "world", ID: "anyone"}}
	}
	return auth, acl
}

// badServers is the error of addresses of servers that cannot be dialled.
func badServers(servers []string) error {
	if len(servers) == 0 {
		return &lock.ArgumentError{Name: "servers", Problem: "must name at least one server"}
	}
	for _, one := range servers {
		if host, port, err := net.SplitHostPort(one); err != nil || host == "" || port == "" {
			return &lock.ArgumentError{Name: "servers", Value: one, Problem: `must be "host:port", one server each`}
		}
	}
	return nil
}
