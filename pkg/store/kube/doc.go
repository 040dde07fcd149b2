// Package kube runs Kubernetes controllers without Kubernetes: it provides a client, a cache and a cluster whose
// objects are in stores. A reconciler that was written for an API server works without changes on objects in NATS, or
// in any other store.Store. Start with Serve, which assigns a store to a kind, and NewCluster or NewManager.
//
//	volumes, err := natskv.New[*kube.Envelope[*v1.Volume]](ctx, js, "volumes", natskv.Options{...})
//	c, err := kube.NewCluster(scheme, kube.Options{}, kube.Serve(volumes))
//	m, err := kube.NewManager(c, manager.Options{})
//
// The client follows the rules of an API server for custom resources. A resourceVersion is a revision of the store: it
// only increases, and a write with an old one is a conflict. A write without a change keeps the resourceVersion. The
// generation counts changes of the spec. Only the subresource status writes the status. Finalizers delay a deletion.
// Preconditions, generated names, merge patches, JSON patches and label selectors work as in Kubernetes. The tests of
// this package compare the responses with those of a real API server.
//
// Some requests need an API server, and return an error that says so: server-side apply, strategic merge patches, and
// field selectors, except on the name and the namespace. A manager with webhooks does not start: see ErrNoAdmission. A
// dry run reads the store and writes nothing. It does not find errors that only the store detects, such as a value that
// is too large.
//
// The Go type is the only schema. There are no defaults, no conversion and no garbage collector, and a namespace does
// not have to exist.
package kube
