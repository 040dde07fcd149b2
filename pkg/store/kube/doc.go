// Package kube is for running Kubernetes controllers where there is no Kubernetes:
// it shows stores as a Kubernetes client, with a cache, as a cluster. A reconciler
// written for an API server then works on objects in NATS, or in any other
// store.Store, unchanged. Start with Serve, which says in which store the objects
// of a kind are, and NewCluster or NewManager.
//
//	volumes, err := natskv.New[*kube.Envelope[*v1.Volume]](ctx, js, "volumes", natskv.Options{...})
//	c, err := kube.NewCluster(scheme, kube.Options{}, kube.Serve(volumes))
//	m, err := kube.NewManager(c, manager.Options{})
//
// The rules are those of an API server for custom resources: resourceVersions that
// only grow (they are revisions of the store) and conflict, writes without a change
// that leave the version, generations that count changes of the spec, a status that
// only its subresource writes, finalizers and deletion in two steps, preconditions,
// generated names, merge and JSON patches, selectors by label. The tests of this
// package compare the answers with those of a real one.
//
// What only an API server can do is refused with an error that says so: server-side
// apply, admission, strategic merge patches, and selectors by fields other than the
// name and the namespace. A dry run reads the store and writes nothing: it does not
// notice what the store alone would refuse, such as a value that is too large. There
// is no schema but the Go type, no defaulting, no conversion, no garbage collector,
// and no namespace has to exist.
package kube
