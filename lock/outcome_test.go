package lock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Every error of a renewal or a command has a word, of which there are few (defect F22): it was always "error".
func TestReasonOf(t *testing.T) {
	answer := func(text string) error {
		return &store.Failure{Fault: store.FaultDefinite, Answered: true, Err: errors.New(text)}
	}
	for want, errs := range map[string][]error{
		"":            {nil},
		"denied":      {&store.Failure{Answered: true, Denied: true, Err: errors.New("NOPERM no right")}},
		"conflict":    {store.ErrConflict, lock.ErrKeyConflict},
		"gone":        {fmt.Errorf("lost: %w", watchdog.ErrGone)},
		"replicas":    {&store.ShortfallError{Got: 0, Want: 1}},
		"LOADING":     {answer("LOADING Redis is loading"), answer("LOADING")},
		"READONLY":    {answer("READONLY You can't write")},
		"refused":     {answer("TENANT42 is unknown"), answer("LOADINGS"), answer("")},
		"timeout":     {context.DeadlineExceeded, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}},
		"unavailable": {io.EOF, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, lock.ErrUnavailable},
		"closed":      {lock.ErrClosed},
		"cancelled":   {context.Canceled},
		"error":       {errors.New("LOADING but no server said so")},
	} {
		for _, err := range errs {
			require.Equal(t, want, lock.ReasonOf(err), "%v", err)
		}
	}
}
