// Package kstatustest tests managed resources with the real kstatus, the library with which Flux, kubectl plugins
// and others find out whether an object is ready: the status at each point of the life of an object, and that
// kubectl wait never sees it flap. It has tests only.
//
// It is a module of its own because kstatus comes with half of kubectl, which a provider must not have in its go.mod.
package kstatustest
