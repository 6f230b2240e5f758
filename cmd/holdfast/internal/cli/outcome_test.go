//go:build unix && !aix

package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/job"
	"github.com/holdfast-go/holdfast/rlock"
)

// The command has run under the lock, and Redis does not confirm the release: the exit code is the command's (defect
// F12).
func TestAnUnconfirmedReleaseLeavesTheCommandsCode(t *testing.T) {
	released := &rlock.ReleaseError{Name: "job", Until: time.Now(), Err: rlock.ErrUnavailable}
	for _, code := range []int{0, 3, 128 + 9} {
		assert.Equal(t, code, exitCode(outcome(job.Result{Code: code}, nil, nil, released)))
	}
	lost := &rlock.LostError{Name: "job", Reason: rlock.LossGone} // the control
	assert.Equal(t, exitLost, exitCode(outcome(job.Result{}, nil, lost, lost)))
}
