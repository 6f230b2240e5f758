package luacall_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/opendefect"
)

// defect A8, of readers: an expiry from before a step back of the server's clock is not put right by a
// renewal, because another level or another reader may have wanted it that long. If the reader crashes then,
// writers wait for the step and the lease.
func TestARenewalOfAReaderAfterAStepBackOfTheClock(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		opendefect.Shows(t, "A8", `^a reader's key is kept for (59m|1h)`, func() error {
			run(p.place, p.readFor(alice, lease))
			for _, key := range []string{p.lock, p.hold(alice, 1)} { // as after a step of an hour
				p.do("PEXPIRE %s 3600000", key)
			}
			require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p.place, p.renewRead(alice, lease)))
			left := p.pttl(p.hold(alice, 1))
			if left <= time.Duration(lease)*time.Millisecond {
				return nil
			}
			return fmt.Errorf("a reader's key is kept for %v", left)
		})
	})
}
