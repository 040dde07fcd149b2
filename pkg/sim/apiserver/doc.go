// Package apiserver simulates a Kubernetes API server in memory, to run controllers without a real one. A request takes
// microseconds, and the same requests always have the same responses. Start with New and [Server.Client].
//
//	server := apiserver.New(scheme, clock.RealClock{})
//	c := server.Client() // a client.Client
//
// The server implements the storage rules of a real API server for custom resources, and for built-in kinds without
// logic of their own: Secrets, ConfigMaps and Events. A resourceVersion only increases, and a write with an old one is
// a conflict. A write without a change keeps the resourceVersion. The generation counts changes of the spec. The
// subresource status writes the status and nothing else. Finalizers, deletion, preconditions, generated names, merge
// patches, JSON patches and server-side apply work as in Kubernetes.
//
// There is no admission and no defaulting, and only the metadata are validated. Server.Drop and Server.Ignore make the
// server discard parts of an object. The tests of this package send random lists of operations to this server and to a
// real API server, and compare the responses.
package apiserver
