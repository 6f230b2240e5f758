// Package crashpoints tests a product: every named point of the engine (package crash) times every
// possible fault there, from an error to a killed process and a store that came back empty.
//
// Each pair has its own server (on PostgreSQL its own database) and its own process. The process, the subject,
// runs a small scenario that is sure to reach the point, and is struck there, once. It records when it treated
// which hold as live, and so does a rival in the parent, which contends for the same lock from the strike on.
// The parent then checks that nothing forbidden happened: two live holds at the same time, a token that did not
// grow, a call that did not end or ended with an unknown error, a hold, a subscription or a goroutine that was
// left. A pair whose strike did not happen has failed.
//
// Pairs that make no sense are not omitted silently: the table at the end counts them, and
// TestPairsWithoutSense gives the reasons. One pair alone:
//
//	go test -race ./integration/crashpoints -run 'TestPairs/renew.reply/stop$'
package crashpoints
