// Package topologies tests the locks on every supported way to run Redis: a single server; a primary with two
// replicas; Sentinel, with three of them; a Cluster of three primaries with a replica each; and five
// independent nodes, for package redlock. Each test runs on each topology where it makes sense, for every kind
// of lock that makes sense there.
//
// Package redistest starts everything on free ports. If no server is available, the test fails and says which
// program is missing.
//
//	go test -race ./integration/topologies
//	HOLDFAST_REDIS_SERVER=/path/to/valkey-server go test -race ./integration/topologies
//
// # What is tested
//
//   - TestConformance: the contract of every lock (package conformance), over two processes.
//   - TestNamesAndMessages: names with hash tags, without, and with braces that form none. A waiter in another
//     process is woken by a message, on a cluster by a sharded one: the poll interval is an hour.
//   - TestCountsAndMessages: the same for latches and counting semaphores, which nobody owns.
//   - TestSlotMigration: a slot moves while locks in it are held and waited for; its keys are on both nodes
//     (ASK) for several renewal periods, and then all on the new node (MOVED).
//   - TestFailoverUnderLoad: every primary is killed while two processes take locks of every kind as fast as
//     they can. Two holds of one lock overlap only if the first was reported lost, which is before its lease
//     could end; no call hangs. Where replicas can be cut off, what was granted
//     meanwhile is lost, each time; with MinReplicas it is refused instead, each time. The log has the counts.
//   - TestRestarts: one node is restarted, then each of them in turn; no hold is lost where nodes keep their
//     data or a quorum stands. TestARestartWithoutItsData: holders learn of the loss, and waiters get the lock.
//   - TestSentinelsThatDoNotAnswerCostNoLock: one Sentinel hangs, or all die, under clients that asked it.
//     TestAPrimaryThatStopsTogetherWithASentinel: nobody that the client knows answers but the replica.
//     TestAProcessAloneWithTheOldPrimaryLeavesIt: half a split, whose other half elects a primary of its own.
//   - TestAStartThatFailsSaysWhatIsMissing.
//
// After each of them, when all processes have ended, no hold is left on any server, no waiter in a queue, and
// no subscriber; TestMain looks for goroutines that are left.
package topologies
