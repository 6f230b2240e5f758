// Package integration tests the locks on what they are run on: a Redis Cluster whose slots move and
// whose nodes die, a primary that Sentinels replace, replicas that freeze, servers that restart, fill
// up or refuse, and go-redis clients with every option that applications set.
//
// Everything is started as local processes by package redistest; README.md says which fault is
// injected how, and what each test proves.
package integration
