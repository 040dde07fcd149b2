// Package reconciler has the names of provider-runtime's package of this import
// path, so that a provider changes imports and nothing else. Each is an alias of
// the name in package [managed], or calls it: values of both may be mixed, and
// every option of managed can be given to [NewReconciler]. New code imports
// managed, whose documentation says how everything behaves.
package reconciler
