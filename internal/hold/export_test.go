package hold

import "context"

// OnEnd has fn called to end the context that Lock returned, with what ends it.
func OnEnd(held context.Context, fn func(end func())) {
	l := held.(*Level)
	cancel := l.cancel
	l.cancel = func(cause error) {
		fn(func() { cancel(cause) })
	}
}
