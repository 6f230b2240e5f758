package cli

import "errors"

// Plan 9 says by texts of its own what is wrong with a connection.
var (
	errReset   = errors.New("reset")
	errRefused = errors.New("refused")
)
