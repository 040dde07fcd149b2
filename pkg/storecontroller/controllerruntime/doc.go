// Package controllerruntime has the names, constants and nine type parameters of an older library, for controllers that
// were written for that library. For new controllers, use storecontroller.New. NewRuntime takes any number of
// dependencies and one type parameter.
//
// Start with NewControllerRuntime or NewRuntime, then SetCustomController, then Run. The runtime calls SyncHandler with
// the key of each changed primary, and HandleSecondary with each changed secondary. It calls GarbageSecondaries after
// the start and at each resync, and Clean once at the end.
//
// The older library did not export the types of entities and external clients. Here IEntity is an object of package
// store, and IEntityClient is a store.
package controllerruntime
