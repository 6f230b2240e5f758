package zookeeper

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/jdk"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// kind is a library's recipe for a lock.
type kind string

const (
	ours         kind = "ours"
	oursCrowd    kind = "ours-crowd"    // goroutines of one client, which take turns beside each other
	curator      kind = "curator"       // InterProcessMutex
	semaphore    kind = "semaphore"     // Curator's InterProcessSemaphoreMutex
	goZooKeeper  kind = "go-zookeeper"  // Lock of github.com/go-zookeeper/zk
	kazoo        kind = "kazoo"         // Lock with extra_lock_patterns=["-lock-"]
	kazooDefault kind = "kazoo-default" // Lock without
)

// contender is a process that contends for the lock of a path by one library. It says "ready", and is told, a line
// each:
//
//	turns N MICROS   lock and unlock N times, with sections of up to MICROS; it says a [section] when each begins, and
//	                 again when it is about to end, and "done"
//	lock             it says "held" when it has the lock
//	unlock           it says "free" when it has unlocked
//	exit             it ends; it does as well when its input ends
type contender struct {
	*role.Process
	who string

	begun section // whose begin it has told, and not its end
}

// section is what a contender says of a hold: To is 0 while it lasts.
type section struct {
	Who      string
	From, To time.Duration
}

// orders are what a contender of this test binary is told with its start.
type orders struct {
	Servers []string
	Path    string
	Who     string
	Session time.Duration
}

// start starts a contender, and waits until it is connected.
func start(t *testing.T, of kind, o orders) *contender {
	t.Helper()
	c := &contender{Process: launch(t, of, o), who: o.Who}
	c.Hears("ready")
	return c
}

func launch(t *testing.T, of kind, o orders) *role.Process {
	t.Helper()
	args := []string{
		strings.Join(o.Servers, ","), o.Path, o.Who, strconv.FormatInt(o.Session.Milliseconds(), 10),
	}
	switch of {
	case curator:
		return role.Launch(t, java(t, append(args, "mutex")))
	case semaphore:
		return role.Launch(t, java(t, append(args, "semaphore")))
	case kazoo:
		return role.Launch(t, python(t, append(args, "patterns")))
	case kazooDefault:
		return role.Launch(t, python(t, append(args, "default")))
	case goZooKeeper:
		return goZooKeeperHolder.Start(t, o)
	case ours:
		return oursHolder.Start(t, o)
	case oursCrowd:
		return oursCrowdHolder.Start(t, o)
	}
	t.Fatalf("no such kind: %s", of)
	return nil
}

// classPath is that of the programs in java, which are built by the first test that needs them.
var classPath = sync.OnceValues(func() (string, error) { return jdk.Build("integration/zookeeper/java") })

// java is a JVM that runs Holder: small and quickly started, not fast in the long run.
func java(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	needs(t, jdk.Missing())
	path, err := classPath()
	require.NoError(t, err)
	return exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", path, "Holder"}, args...)...)
}

// interpreter is the Python that has kazoo.
var interpreter = sync.OnceValues(func() (string, error) { return servers.RunScript("setup-kazoo.sh") })

// python returns the command that runs holder.py.
func python(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	path, err := interpreter()
	if err != nil {
		needs(t, err.Error())
	}
	return exec.Command(path, append([]string{"kazoo/holder.py"}, args...)...)
}

// needs skips a test for which something is missing. Where CI is set, it fails.
func needs(t *testing.T, missing string) {
	t.Helper()
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		t.Fatal("CI is set, but " + missing)
	default:
		t.Skip("not run: " + missing)
	}
}

// play serves the commands of a contender that is this test binary.
func play(who string, acquire, release func() error) {
	tell("ready")
	for {
		words := strings.Fields(role.Told())
		switch words[0] {
		case "turns":
			take(who, words[1:], acquire, release)
			tell("done")
		case "lock":
			role.Check(acquire())
			tell("held")
		case "unlock":
			role.Check(release())
			tell("free")
		default:
			return
		}
	}
}

// take takes turns, whose number and length are as the command says.
func take(who string, words []string, acquire, release func() error) {
	turns, err := strconv.Atoi(words[0])
	role.Check(err)
	micros, err := strconv.Atoi(words[1])
	role.Check(err)
	for range turns {
		role.Check(acquire())
		hold := section{Who: who, From: stamp.Now()}
		hold.tell()
		time.Sleep(time.Duration(rand.IntN(micros)) * time.Microsecond)
		hold.To = stamp.Now()
		hold.tell()
		role.Check(release())
	}
}

// tell says a line to the test.
func tell(line string) { fmt.Println(line) }

func (s section) tell() {
	text, err := json.Marshal(s)
	role.Check(err)
	tell(string(text))
}

// patience bounds a contender's silence. Nothing is measured against it.
const patience = time.Minute

// hear reads what the contender says until it is done, or has ended, and adds its holds to those of a book.
func (c *contender) hear(b *book) error {
	for {
		line, err := c.Next(patience)
		if err != nil || line == "done" {
			return err
		}
		var s section
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return err
		}
		c.begun = s
		if s.To != 0 {
			c.begun = section{}
			b.add(s)
		}
	}
}

// book is what all contenders did.
type book struct {
	mu    sync.Mutex // guards holds
	holds []witness.Hold
}

func (b *book) add(s section) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds = append(b.holds, witness.Hold{Who: s.Who, From: s.From, To: s.To})
}
