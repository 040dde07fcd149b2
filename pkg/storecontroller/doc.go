// Package storecontroller is for controllers whose primary objects are outside
// Kubernetes, in a store (package store), and whose secondary objects are in
// Kubernetes, in stores, or elsewhere.
//
// Begin with New, or with NewFunc if the reconciler needs its controller. A controller is one of controller-runtime:
// it has its queue, its metrics and its leader election, and is run by a manager. What is different is what it is
// about, the key of an object in a store, and what it watches:
//
//	Owns, OwnsKube, OwnsInformer    secondaries, which lead to the primary they are marked with
//	Reads, ReadsKube                tertiaries, which lead to whom a function says
//	External                        anything else that knows of keys
//
// A store may lose what it acknowledged, and be made anew. So the controller does
// not take what it does not find for deleted: it asks the store itself before it
// tells a Reconciler that an object is gone, and does not tell so of what was lost
// together with its store. Secondaries say of which store their owner was, and the
// garbage collector leaves those of another one alone.
package storecontroller
