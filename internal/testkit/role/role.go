// Package role starts a test binary again as a process of its own, for tests of what processes do to one another, and
// of what one leaves behind that is killed or stopped. A test talks with a process in lines.
//
// A role is a variable of the tests' package, and TestMain begins with [Play]:
//
//	var holder = role.New("holder", func(o orders) {
//		// take the lock that o names
//		fmt.Println("held")
//		for role.Told() != "unlock" {
//		}
//		...
//	})
//
//	func TestMain(m *testing.M) {
//		role.Play()
//		servers.Main(m)
//	}
//
// A test starts as many processes in a role as it needs:
//
//	child := holder.Start(t, orders{Addr: server.Addr()})
//	child.Hears("held")
//	child.Kill()
//
// A process ends with its test at the latest, or with the test binary, because its input ends then.
package role

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// variable is set in the environment of a process that plays a role: the role's name, and what the process is told.
const variable = "HOLDFAST_TEST_ROLE"

// roles are those that the binary can play. The initialization of its packages fills it.
var roles = make(map[string]func(orders string))

// Role is what a test binary does when a test starts it again. O is what it is told with its start, by way of JSON.
type Role[O any] struct{ name string }

// New declares a role before TestMain runs. The name is one word. Its process ends when play returns.
func New[O any](name string, play func(O)) Role[O] {
	roles[name] = func(text string) {
		var orders O
		Check(json.Unmarshal([]byte(text), &orders))
		play(orders)
	}
	return Role[O]{name}
}

// told are the lines that the test has said. They outlive a role that does not ask for them.
var told = make(chan string, 1<<10)

// Play plays the role that this process was started in, and does not return. It returns at once in any other process.
func Play() {
	text, started := os.LookupEnv(variable)
	if !started {
		return
	}
	name, orders, _ := strings.Cut(text, " ")
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			told <- lines.Text()
		}
		os.Exit(1) // the test has died, or it is about to kill this process
	}()
	roles[name](orders)
	os.Exit(0)
}

// Told waits for the next line that the test says to this process.
func Told() string { return <-told }

// Check ends this process if err is not nil, and says why.
func Check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}
