// Package apiserver is for running controllers against the semantics of a
// Kubernetes API server without one: a server in memory, in which a request takes
// microseconds and every answer is the same each time. Start with New and
// [Server.Client].
//
//	server := apiserver.New(scheme, clock.RealClock{})
//	c := server.Client() // a client.Client
//
// It does what the storage layer of a real one does with objects of custom
// resources and of built-in kinds without logic of their own (Secrets,
// ConfigMaps, Events): versions that only grow and conflict, writes without a
// change that leave the version, generations that count changes of the spec, a
// status that only its subresource writes and that writes nothing else,
// finalizers and deletion, preconditions, generated names, merge patches, JSON
// patches and server-side apply. It has no admission, no defaults and no
// validation of fields beyond metadata; see Server for what a kind can be made to
// drop. Random lists of operations are compared with a real API server by the
// tests of this package.
package apiserver
