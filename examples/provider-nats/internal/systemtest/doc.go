// Package systemtest has tests of the whole provider on a real API server, with the
// rights of its role and no others, and counts what it sends: an operator of ten
// thousand objects pays for each request.
package systemtest
