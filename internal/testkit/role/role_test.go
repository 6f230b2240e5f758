package role_test

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

const patience = 30 * time.Second

type orders struct{ Greeting string }

var echo = role.New("echo", func(o orders) {
	fmt.Println(o.Greeting, "from here")
	for {
		switch line := role.Told(); line {
		case "end":
			return
		case "fail":
			role.Check(errors.New("on request"))
		default:
			fmt.Println(line)
		}
	}
})

func TestMain(m *testing.M) {
	role.Play()
	servers.Main(m)
}

func TestAConversation(t *testing.T) {
	p := echo.Start(t, orders{Greeting: "hello"})
	require.Equal(t, "from here", p.Hears("hello"))
	require.Equal(t, "a line", p.Ask("a line"))
	p.Freeze()
	p.Say("asleep")
	p.Silent("it stands still")
	p.Thaw()
	require.Equal(t, "asleep", p.Hear())
	_, err := p.Next(time.Millisecond)
	require.ErrorContains(t, err, "says nothing")
}

func TestTheEndOfAProcess(t *testing.T) {
	for order, last := range map[string]string{"end": "", "fail": "failed: on request", "kill": ""} {
		p := echo.Start(t, orders{Greeting: "hello"})
		p.Hears("hello")
		if order == "kill" {
			p.Kill()
		} else {
			p.Say(order)
		}
		line, err := p.Next(patience)
		if last != "" {
			require.NoError(t, err)
			_, err = p.Next(patience)
		}
		require.Equal(t, last, line)
		require.ErrorIs(t, err, role.ErrEnded)
		require.Equal(t, order == "end", p.Ended(patience) == nil, "%s: its status", order)
		p.Kill() // as the cleanup will do
	}
}

func TestAnotherProgramIsSpokenWith(t *testing.T) {
	p := role.Launch(t, exec.Command("cat"))
	require.Equal(t, "a line", p.Ask("a line"))
	p.Kill()
	_, err := p.Next(patience)
	require.ErrorIs(t, err, role.ErrEnded)
}
