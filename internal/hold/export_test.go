package hold

import "context"

// OnEnd has fn called when the context ends that Lock returned, before it does.
func OnEnd(held context.Context, fn func()) {
	l := held.(*Level)
	cancel := l.cancel
	l.cancel = func(cause error) {
		fn()
		cancel(cause)
	}
}
