// Package store keeps typed, versioned and watched objects outside Kubernetes. Objects with finalizers are deleted
// in two steps, as in Kubernetes.
//
// A Store[T] holds the objects of one kind. Package memory implements it for tests and small programs, package
// natskv in a NATS JetStream bucket; every other implementation has to pass the suite in package storetest. An
// Informer[T] keeps a cache of a store that stays correct if connections break, buckets are deleted and created
// again, and entries expire without an event. Controllers over stores are in package storecontroller.
//
// Start with memory.New and NewInformer.
//
// Objects follow the rules of Kubernetes: every write is compared with the revision it is based on, Update does not
// change the status and UpdateStatus changes nothing else, the generation counts changes of the desired state, and
// an object with finalizers is marked as deleted before it is removed. Rules implements them for authors of
// adapters. Values are JSON objects with the fields metadata and status in addition to the object's own fields.
//
// This package depends neither on NATS nor on an API server.
package store
