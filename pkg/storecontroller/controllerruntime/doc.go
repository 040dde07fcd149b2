// Package controllerruntime is for compatibility: controllers that were written for
// a library of that name keep its names, constants and nine type parameters. New
// controllers use storecontroller.New, or NewRuntime here, which takes any number
// of dependencies.
//
// What a controller sees: SyncHandler is called with a key for each change of a
// primary, HandleSecondary with each secondary that changed, GarbageSecondaries
// after the start and with each resync, and Clean once at the end.
//
// The types of entities and of external clients were never public. Here IEntity is
// an object of package store, and IEntityClient a store of them.
package controllerruntime
