// Package zookeeper tests that locks of package zklock stand in one queue with those of other libraries on the same
// path: Curator's InterProcessMutex, the Lock of github.com/go-zookeeper/zk, and kazoo's Lock with its option
// extra_lock_patterns. None of these is imitated. Each contender is a process of its own: a JVM with Curator, a Python
// with kazoo, or this test binary again. What they did is judged by a clock that they share, as package witness does.
//
// Curator's program is in java and is built by Maven, kazoo's is in kazoo and is run by the Python that
// scripts/setup-kazoo.sh prepares. Where a JDK, Maven or Python is missing, the tests that need it are skipped, and
// fail where CI is set.
package zookeeper
