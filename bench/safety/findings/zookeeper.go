package main

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/holdfast-go/holdfast/internal/testkit/jdk"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
)

// nodeLeft: the connection of a caller is cut while Lock asks for the nodes before its own, and the caller tries again.
func nodeLeft(t testing.TB) {
	fmt.Println("go-zookeeper Lock, a session of 10 s: the connection is cut after Lock made its node")
	server := zktest.Start(t, zktest.Options{})
	path := tcpproxy.Start(t, server.Addr())
	a, b := connected(path.Addr()), connected(server.Addr())
	defer a.Close()
	defer b.Close()
	must(b.Create("/job", nil, 0, zk.WorldACL(zk.PermAll)))
	path.Latency(500 * time.Millisecond)
	failed := make(chan error, 1)
	start = time.Now()
	go func() { failed <- zk.NewLock(a, "/job", zk.WorldACL(zk.PermAll)).Lock() }()
	for len(nodes(b)) == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Second) // the answer is back, and the next question under way
	path.CutAll()
	path.Latency(0)
	say("A's Lock returns %q", <-failed)
	got := make(chan error, 1)
	go func() { got <- zk.NewLock(a, "/job", zk.WorldACL(zk.PermAll)).Lock() }()
	select {
	case err := <-got:
		say("A's next Lock returns %v", err)
	case <-time.After(15 * time.Second):
		say("A is in the session %#x, and its next Lock waits; the nodes of the lock:", a.SessionID())
		for _, node := range nodes(b) {
			_, stat, err := b.Exists("/job/" + node)
			must(0, err)
			say("  %s of the session %#x", node, stat.EphemeralOwner)
		}
	}
}

// connected is a connection that has a session.
func connected(addr string) *zk.Conn {
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silence{}))
	must(0, err)
	for event := range events {
		if event.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

type silence struct{}

func (silence) Printf(string, ...any) {}

func nodes(conn *zk.Conn) []string {
	children, _, err := conn.Children("/job")
	return must(children, err)
}

// noExclusion: two recipes on the path of one lock, without any fault.
func noExclusion(t testing.TB) {
	fmt.Println("Curator and kazoo, one path, no fault: one holds, and the other asks")
	server := zktest.Start(t, zktest.Options{})
	for i, pair := range [][2]recipe{
		{kazooLock, curatorMutex}, {curatorMutex, kazooLock},
		{curatorMutex, curatorSemaphore}, {curatorSemaphore, curatorMutex},
	} {
		path := fmt.Sprintf("/orders-%d", i) // a holder that is killed leaves its node on it for a session
		holds, asks := pair[0].holder(t, server.Addr(), path), pair[1].holder(t, server.Addr(), path)
		if holds == nil || asks == nil {
			continue
		}
		start = time.Now()
		holds.Say("lock")
		holds.Hears("held")
		asks.Say("lock")
		if _, err := asks.Next(5 * time.Second); err != nil {
			say("while %s holds, %s waits", pair[0].name, pair[1].name)
		} else {
			say("while %s holds, %s returns: both hold", pair[0].name, pair[1].name)
		}
		holds.Kill()
		asks.Kill()
	}
}

// recipe is a lock of a library in another language, with the program in integration/zookeeper that holds it.
type recipe struct {
	name    string
	command func(args ...string) (*exec.Cmd, error)
	option  string
}

var (
	kazooLock        = recipe{"kazoo's Lock", kazoo, "default"}
	curatorMutex     = recipe{"Curator's InterProcessMutex", curator, "mutex"}
	curatorSemaphore = recipe{"Curator's InterProcessSemaphoreMutex", curator, "semaphore"}
)

// holder starts the program, or says what is missing.
func (r recipe) holder(t testing.TB, addr, path string) *role.Process {
	command, err := r.command(addr, path, "holder", "10000", r.option)
	if err != nil {
		say("not run: %s: %v", r.name, err)
		return nil
	}
	p := role.Launch(t, command)
	p.Hears("ready")
	return p
}

func curator(args ...string) (*exec.Cmd, error) {
	path, err := jdk.Build("integration/zookeeper/java")
	options := []string{"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", path, "Holder"}
	return exec.Command("java", append(options, args...)...), err
}

func kazoo(args ...string) (*exec.Cmd, error) {
	python, err := servers.RunScript("setup-kazoo.sh")
	program := "../integration/zookeeper/kazoo/holder.py"
	return exec.Command(python, append([]string{program}, args...)...), err
}
