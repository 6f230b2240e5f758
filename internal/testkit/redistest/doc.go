// Package redistest runs real Redis servers for tests.
//
// A test asks for what it needs and gets it on free loopback ports: one server ([Start], or
// [Shared] for all tests of a binary), a server with a [Replica], a cluster ([Cluster]) or a
// primary watched by Sentinels ([Sentinel]). Nothing has to run beforehand and nothing is left
// behind: servers end with the test that started them and, on Linux, with the test binary
// itself, however it ends.
//
// The server program is the one that HOLDFAST_REDIS_SERVER names; otherwise redis-server or
// valkey-server on PATH. If there is none, the test fails with a sentence that says what to
// install. No test is ever skipped:
// a suite that passes because it did not run is worse than one that fails.
//
// A [Server] can be killed, stopped, continued and restarted on its port, so tests can cover
// crashes and pauses of Redis. Package faultproxy covers faults of the network.
package redistest
