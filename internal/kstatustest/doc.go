// Package kstatustest tests managed resources with the real kstatus. Flux, kubectl plugins and other tools use that
// library to find out whether an object is ready. The tests check the status at each point of the life of an object,
// and that kubectl wait never sees a ready object become unready again. The package has tests only.
//
// It is a separate module because kstatus depends on a large part of kubectl, which must not be in the go.mod of a
// provider.
package kstatustest
