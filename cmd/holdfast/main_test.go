package main

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// roles are what this test binary is when a test starts it as a process of its own, by the environment.
var roles = map[string]func(){
	"holdfast": func() { os.Exit(cli.Main(os.Args)) },
}

const roleEnv = "HOLDFAST_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		role()
		return
	}
	redistest.Main(m)
}
