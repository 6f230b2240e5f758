// Package operate looks after the locks in a Redis: it lists those of all clients, finds keys that should expire
// and never will, and checks whether a server suits locks. A program that only locks does not import it, and links
// none of its code.
//
//	for entry, err := range operate.List(ctx, client, "order:*") {
//		if err != nil {
//			return err
//		}
//		fmt.Println(entry.Name, entry.Kind, entry.Held, entry.Waiters)
//	}
//
// To look at one lock, and to end a hold of it, is a matter of its handle: [lock.Lock.Inspect] and [lock.Lock.Break].
package operate
