// Package store keeps typed, versioned and watched objects outside Kubernetes. Objects with finalizers are deleted in
// two steps, as in Kubernetes.
//
// A Store[T] holds the objects of one kind. Package memory implements it for tests and small programs. Package natskv
// implements it in a NATS JetStream bucket. Every other implementation has to pass the suite in package storetest. An
// Informer[T] keeps a cache of a store. The cache stays correct if connections break, if buckets are deleted and
// created again, and if entries expire without an event. Controllers over stores are in package storecontroller.
//
// Start with memory.New and NewInformer.
//
// Objects follow the rules of Kubernetes. Every write is compared with the revision on which it is based. Update does
// not change the status, and UpdateStatus changes nothing else. The generation counts changes of the desired state.
// Deleting an object with finalizers sets its deletion timestamp; it is removed later. Rules implements this for
// authors of adapters. Values are JSON objects with the fields metadata and status in addition to the object's own
// fields.
//
// This package depends neither on NATS nor on an API server.
package store
