// Package kstatustest holds tests and nothing else: what the real kstatus, the library with which Flux, kubectl
// plugins and others tell whether an object is ready, makes of a managed resource at each point of its life, and
// whether kubectl wait would ever see it flap.
//
// It is a module of its own because kstatus comes with half of kubectl, which a provider must not have in its go.mod.
package kstatustest
