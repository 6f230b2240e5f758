package fipsmode_test

import (
	"crypto/fips140"
	"crypto/sha1"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/fipsmode"
)

// TestChild checks the mode in the process that the test below starts.
func TestChild(t *testing.T) {
	if os.Getenv("GODEBUG") != "fips140=only" {
		t.Skip("not run: TestTheModeIsOn runs it, in a process of its own")
	}
	require.True(t, fips140.Enforced())
	require.Panics(t, func() { sha1.Sum(nil) })
}

func TestTheModeIsOn(t *testing.T) { fipsmode.Run(t, "^TestChild$") }
