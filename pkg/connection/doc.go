// Package connection shares the connections to external systems among the
// objects that use them: one connection for a ProviderConfig, however many
// objects refer to it, and one look at its credentials per minute.
//
// Start with New. Each pass calls Cache.Acquire, uses Lease.Value, and calls
// Lease.Release when it is done. Which connection is meant is told in three
// steps, from cheap to expensive:
//
//	key       which connection, such as the UID of a ProviderConfig
//	version   what the caller knows of its settings without asking anyone, such
//	          as the generation of the ProviderConfig in its cache
//	revision  what the settings are in truth, such as the version together with
//	          the UID and resourceVersion of a Secret that was just read
//
// The revision is asked for when the version changes, after an interval, and
// after Cache.Recheck. A connection is built only if the revision changed. Who
// cannot tell the revision at the moment says so by Unsure. Whoever finds that the Secret
// is gone says so by Missing: then those who ask with ForDeletion keep what they have.
package connection
