// Package keys derives the names of Redis keys and channels from the name of a lock, as
// Redisson does, and computes their slots in a cluster.
//
// # Why Redisson's rule, faults and all
//
// Java programs look for the same keys, so their rule is the only one that works. It puts
// braces around a name that has none, so that every derived name lies in the slot of the
// name itself: the bare name hashes as a whole, and so does {name}. A name with an opening
// brace anywhere is assumed to carry a hash tag of its owner's choice, and stays as it is.
//
// That second half looks at one character only, while Redis requires a closing brace after
// it and something in between. For "a{b", "{}z" or "foo}bar" the derived keys therefore
// lie in other slots than the name, and a script of both fails on a cluster. On a single
// server such names work, and Java uses them; so nothing is refused here. A caller that
// needs two keys of one slot checks [SameSlot] first.
//
// For the same reason x and {x} are two locks with one channel and one token key. Wake-ups
// meant for the other do no harm, and tokens of one sequence still grow.
//
// Names are bytes: nothing is decoded, normalised or escaped.
package keys
