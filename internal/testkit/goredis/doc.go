// Package goredis has a test for each thing that the locks rely on in go-redis, and that go-redis does not promise: how
// it uses deadlines, how often it sends, which errors it returns, what it calls when. Everything else that the locks
// need of it, its names and types, the compiler checks.
//
// The tests use go-redis alone, on a real server. `go run ./scripts/servers -only go-redis` runs them with the oldest
// version that passes and the newest one, and docs/servers.md has the results.
package goredis
