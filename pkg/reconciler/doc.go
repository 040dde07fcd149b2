// Package reconciler has the same names as the package with this import path in provider-runtime. A provider of
// provider-runtime only needs to change its imports.
//
// Each name is an alias of the name in package [managed], or calls it. Values of both packages can be mixed, and
// [NewReconciler] accepts every option of managed. New code should import managed, which has the documentation.
package reconciler
