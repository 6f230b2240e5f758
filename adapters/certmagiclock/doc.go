// Package certmagiclock gives a certmagic storage the locks of this module, so that one certificate is obtained
// once, however many processes serve its domain.
//
//	certmagic.Default.Storage = certmagiclock.New(storage, func(name string) *rlock.Lock {
//		return rlock.New(client, "certmagic:"+name)
//	})
//
// Everything but the locks goes to the storage that is wrapped. It may be one without locks of its own, such as an
// object store. The locks of one that has some are no longer used.
//
// # Rules
//
//  1. Every process that shares the certificates needs the same locks: the same store and the same names.
//  2. Give the locks a prefix of their own. A lock of that name that the application takes as well would be in the
//     way.
//  3. [Storage.Unlock] is called once for each Lock or TryLock that succeeded. That is certmagic's own rule.
//
// # What is promised, and what is not
//
// Of all processes and goroutines one has the lock of a name, with the promises and the limits of package rlock.
// Waiters are woken by messages. The lock is renewed until Unlock; certmagic may retry for days. If the process
// dies, the lock is free within a lease, 30 s by default.
//
// When a hold is lost, certmagic is not told at once: its context is its own, and its Locker has no way to say so.
// It learns of a loss
//
//   - before its next attempt, from [Storage.RenewLockLease], which returns the *lock.LostError. The attempt fails,
//     and a later one takes the lock again, if nobody else holds it, before it looks whether the certificate is
//     there;
//   - from Unlock, which returns the *lock.LostError.
//
// Until then two processes may obtain one certificate, which costs an order at the CA and does no harm. The client
// logs the loss when it happens.
//
// # Why it is safe
//
// certmagic unlocks by name. After a loss another goroutine of the process could get the name's lock while the first
// one still works, and the first one's Unlock would end the second one's hold. Therefore this process takes no name
// again whose lost hold is not unlocked yet: the second goroutine waits for that Unlock, and meanwhile it keeps no
// other process from the lock. So a name has one hold here at most, and Unlock ends the hold of its caller.
//
// A context of certmagic that carries holds of the application takes a lock like any other: nothing is re-entered.
// When the context ends, Lock and TryLock return; a hold stays until Unlock, which needs no context.
package certmagiclock
