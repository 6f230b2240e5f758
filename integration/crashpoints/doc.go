// Package crashpoints tests a product: every named point of the engine (package crash) times everything
// that can go wrong there, from an error to a killed process and a Redis that came back empty.
//
// Each pair has a Redis and a process of its own. The process, the subject, goes through a small scenario
// that is sure to reach the point, and there it is struck, once. What it believed to hold, and when, it
// writes down, and so does a rival in the parent, which contends for the same lock from the strike on.
// The parent then looks for what must never be: two that believed at one time, a token that did not
// grow, a call that did not end or ended with a word that is not ours, a key, a subscription or a
// goroutine that stayed. A pair whose strike did not happen has failed.
//
// Pairs without a sense are not left out in silence: the table at the end counts them, and
// TestPairsWithoutSense says why. One pair alone:
//
//	go test -race ./integration/crashpoints -run 'TestPairs/renew.reply/stop$'
package crashpoints
