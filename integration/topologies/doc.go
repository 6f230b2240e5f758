// Package topologies tests the locks on every way to run Redis that they are for: a single server; a primary
// with two replicas; Sentinel, with three of them; a Cluster of three primaries with a replica each; and five
// independent nodes, for package redlock. Each test runs on each topology where it makes sense, for every kind
// of lock that makes sense there.
//
// Everything is started by package redistest on free ports, and one switch decides what it runs on: local
// processes, or containers of the image that HOLDFAST_REDIS_IMAGE names. Where no server is to be had, the
// test fails and says which program is missing.
//
//	go test -race ./integration/topologies
//	HOLDFAST_REDIS_SERVER=/path/to/valkey-server go test -race ./integration/topologies
//	HOLDFAST_REDIS_IMAGE=redis:8-alpine go test -race ./integration/topologies
//
// # What is tested
//
//   - TestConformance: the contract of every lock (package conformance), over two processes.
//   - TestNamesAndMessages: names with hash tags, without, and with braces that are none. Who waits in another
//     process is woken by a message, on a cluster by a sharded one: the poll interval is an hour.
//   - TestCountsAndMessages: the same of latches and counting semaphores, which nobody owns.
//   - TestSlotMigration: a slot moves while locks in it are held and waited for; its keys are here and there
//     (ASK) for several renewal periods, and then all at the new node (MOVED).
//   - TestFailoverUnderLoad: every primary is killed while two processes take locks of every kind as fast as
//     they can. No two believe in one lock but where the first was told of its loss, which is before its lease
//     could be over; nobody is stuck. Where replicas can be kept from hearing of anything, what was granted
//     meanwhile is lost, each time; with MinReplicas it is refused instead, each time. The log has the counts.
//   - TestRestarts: one node is restarted, then each of them in turn; no hold is lost where nodes keep their
//     data or a quorum stands. TestARestartWithoutItsData: holders are told, who waits gets in.
//   - TestAStartThatFailsSaysWhatIsMissing.
//
// After each of them, when all processes have ended, no hold is left on any server, nobody stands in a queue,
// and nobody listens; TestMain looks for goroutines that are left.
package topologies
