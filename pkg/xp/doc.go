// Package xp is for providers that were written for crossplane-runtime. It adapts their
// external clients, and has the names of crossplane-runtime that no other package of Moorage
// has, so that such a controller needs other imports and a few changed lines in its Setup. New
// code uses package managed.
//
// Start with [NewReconciler] and [WithExternalConnecter]. The command moorage migrate writes
// these names into a provider, and docs/migrating.md says what is left to do.
package xp
