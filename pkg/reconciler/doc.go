// Package reconciler has the names of provider-runtime's package of this import
// path, so that a provider only needs to change its imports. Each is an alias of
// the name in package [managed], or calls it: values of both may be mixed, and
// every option of managed can be passed to [NewReconciler]. New code should import
// managed, which has the documentation.
package reconciler
