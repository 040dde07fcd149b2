// Package connection caches connections to external systems. There is one connection for each ProviderConfig, however
// many objects refer to it. Its credentials are read once per minute.
//
// Start with New. Each pass calls Cache.Acquire, uses Lease.Value, and calls
// Lease.Release when it is done. A connection is identified in three steps, from cheap to
// expensive:
//
//	key       which connection, such as the UID of a ProviderConfig
//	version   what the caller knows of its settings without a request, such as the
//	          Version of the spec of the ProviderConfig in its cache
//	revision  the current settings, such as the version together with the UID and
//	          resourceVersion of a Secret that was just read
//
// The revision is resolved when the version changes, after an interval, and after Cache.Recheck. A connection is built
// only if the revision has changed. A Resolver that cannot determine the revision at the moment returns an error marked
// by Unsure. A Resolver whose Secret does not exist returns an error marked by Missing. Callers that pass the option
// ForDeletion(true) then keep the current connection.
package connection
