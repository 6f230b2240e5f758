package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/rlock"
)

// lossForgets are the ways in which Redis itself forgets its locks.
var lossForgets = []struct {
	name   string
	forget func(l *lossLab, holds []*lossHold) error
	after  func(l *lossLab, h *lossHold) error // what has to stand at the key then
}{
	{"deleted", func(l *lossLab, holds []*lossHold) error {
		for _, h := range holds {
			if err := l.direct.Del(context.Background(), h.name).Err(); err != nil {
				return err
			}
		}
		return nil
	}, lossAbsent},
	{"overwritten", func(l *lossLab, holds []*lossHold) error {
		for _, h := range holds {
			if err := l.direct.Set(context.Background(), h.name, "precious", 0).Err(); err != nil {
				return err
			}
		}
		return nil
	}, func(l *lossLab, h *lossHold) error {
		value, err := l.direct.Get(context.Background(), h.name).Result()
		if err != nil || value != "precious" {
			return fmt.Errorf("%s: a stranger's value was touched: %q, %v", h.name, value, err)
		}
		return nil
	}},
	{"flushed", func(l *lossLab, _ []*lossHold) error {
		return l.direct.FlushAll(context.Background()).Err()
	}, lossAbsent},
	{"killed and restarted empty", func(l *lossLab, _ []*lossHold) error {
		l.server.Kill()
		l.server.Restart()
		return nil
	}, lossAbsent},
}

func lossAbsent(l *lossLab, h *lossHold) error {
	n, err := l.direct.Exists(context.Background(), h.name).Result()
	if err != nil || n != 0 {
		return fmt.Errorf("%s: something is there: %v", h.name, err)
	}
	return nil
}

// G2, need 2: when Redis itself forgot a hold, its context ends within one renewal period and one command's
// limit, long before validity would; and nothing puts it back (bugs 12, 17 and 18).
func TestLossOfWhatRedisForgot(t *testing.T) {
	t.Parallel()
	const (
		runs  = 20
		lease = 12 * time.Second
		bound = lease/3 + lease/6
		slack = lease / 4 // for the scheduler; together still well below validity
	)
	errs := make([]error, len(lossForgets))
	var all sync.WaitGroup
	for i, way := range lossForgets {
		l := newLossLab(t, 4, lease)
		all.Go(func() {
			holds, err := l.take(runs)
			if err != nil {
				errs[i] = err
				return
			}
			if errs[i] = way.forget(l, holds); errs[i] != nil {
				return
			}
			forgotten := time.Now()
			errs[i] = lossAwait(holds, func(h *lossHold) error {
				if late := h.ended.Sub(forgotten) - bound; late > slack {
					return fmt.Errorf("%s: %v later than it should", h.name, late)
				}
				_, held := h.lock.Held(h.ctx)
				return errors.Join(
					lossCheck(h.name, context.Cause(h.ctx), rlock.LossGone),
					lossCheck(h.name, held, rlock.LossGone),
					lossCheck(h.name, h.unlock(), rlock.LossGone),
					way.after(l, h))
			})
		})
	}
	all.Wait()
	for i, way := range lossForgets {
		t.Run(way.name, func(t *testing.T) { assert.NoError(t, errs[i]) })
	}
}
