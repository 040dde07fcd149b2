// Package xp has the names of crossplane-runtime that Moorage has no use for itself, and an
// adapter of its clients, so that a controller which was written for it needs other imports
// and a few lines of Setup. It is for what exists: new code uses package managed.
//
// Start with [NewReconciler] and [WithExternalConnecter]. The command moorage migrate writes
// these names into a provider, and docs/migrating.md says what is left to do.
package xp
