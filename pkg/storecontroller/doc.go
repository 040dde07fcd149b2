// Package storecontroller runs controllers whose primary objects are in a store outside Kubernetes (package store).
// Their secondary objects may be in Kubernetes, in stores, or in other systems.
//
// Start with New, or with NewFunc if the reconciler calls methods of its controller. A Controller is a controller of
// controller-runtime: it has a work queue, metrics and leader election, and a manager runs it. A request is the key of
// an object in a store. These dependencies enqueue keys:
//
//	Owns, OwnsKube, OwnsInformer    secondaries, which map to the primary that their marks name
//	Reads, ReadsKube                other inputs, which map to the keys that a function returns
//	External                        any other source of keys
//
// A store may lose acknowledged writes, or be deleted and created again. Therefore a missing object counts as deleted
// only after a live read of the store has confirmed it. A primary that was lost with its store never counts as deleted.
// Marks are the labels and annotations (in a store: Metadata.Owners) that name the primary of a secondary. They also
// have the epoch and the revision of the primary's store. The garbage collector keeps secondaries whose primary was in
// another store.
package storecontroller
