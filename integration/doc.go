// Package integration tests the locks in the environments in which they run: a Redis Cluster whose slots move and
// whose nodes die, a primary that Sentinels replace, replicas that freeze, servers that restart, fill up or refuse,
// and go-redis clients with every option that applications set.
//
// Package redistest starts everything as local processes; README.md says how each fault is injected, and what each
// test proves.
package integration
