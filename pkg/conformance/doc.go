// Package conformance tests a client of a provider (a managed.ExternalClient and its
// connecter) for the properties that the managed reconciler relies on. It is for authors
// of providers. Start with Run, in a test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Suite{...})
//	}
//
// The author provides the connecter, objects as users would apply them, changes of
// their specs, and a Probe: another way to read the external system, which may be a
// fake or the real one. Direct checks call the client without a reconciler. Then the
// reconciler calls it in scenarios, with an API server, a cache and a queue in memory
// (package sim), and with one fault at each boundary: a response is lost, the process
// dies before or after a call, another replica takes over, a user edits the object.
// There is one subtest for each property.
//
// The reconciler runs in virtual time, the client and the external system in real time:
// a system that needs time to apply a change needs Suite.Delay or Suite.Patience. Calls
// for an object come one at a time; its timestamps are of the year 2000.
//
// Nothing else may use the samples and their external resources while the suite runs.
package conformance
