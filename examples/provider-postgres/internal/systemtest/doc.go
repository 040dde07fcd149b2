// Package systemtest has tests of the whole provider on a real API server, with the permissions of its role
// only, and counts its requests: an operator of ten thousand objects pays for each request.
package systemtest
