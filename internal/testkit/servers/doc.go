// Package servers is what the packages that start servers for tests have in common, whichever database it is: the
// processes ([Process]), their ports ([Port]) and accounts ([Account]), the end of a test binary ([Main]), programs
// that are no tests ([Alone]), and waiting ([Eventually]). It imports no client of a database.
package servers
