package hold

import "context"

// OnEnd has fn called to end the context that Lock returned, with what ends it.
func OnEnd(held context.Context, fn func(end func())) {
	made := held.(*Level).standard()
	cancel := made.cancel
	made.cancel = func(cause error) {
		fn(func() { cancel(cause) })
	}
}
