// Package store keeps objects outside Kubernetes: typed, versioned, watched, and
// deleted in two steps where something is to be done before they go.
//
// A Store[T] is a place of one kind; package memory has one for tests and small
// programs, package natskv one in a NATS JetStream bucket, and package storetest
// the suite that every further one passes. An Informer[T] keeps a copy of a store
// in memory, and stays right when connections break, buckets are made anew, and
// entries vanish without a word. Controllers over stores are in package
// storecontroller.
//
// The rules of an object's life are those of Kubernetes: every write is compared
// with the revision it is based on, Update leaves the status alone and UpdateStatus
// everything else, the generation counts changes of what is desired, and an object
// with finalizers is marked before it is removed. Rules has them for those who
// write an adapter. Values are JSON objects with the fields metadata and status
// beside the object's own.
//
// This package knows neither NATS nor Kubernetes.
package store
