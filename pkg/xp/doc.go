// Package xp is for providers that were written for crossplane-runtime. It adapts their external clients. It also has
// the names of crossplane-runtime that no other package of Moorage has. So a controller for crossplane-runtime needs
// only other imports and a few changed lines in its Setup. New code should use package managed.
//
// Start with [NewReconciler] and [WithExternalConnecter]. The command moorage migrate writes these names into a
// provider. docs/migrating.md lists the changes that remain.
package xp
