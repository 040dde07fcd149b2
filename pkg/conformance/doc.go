// Package conformance tests whether a client of a provider (a managed.ExternalClient and its connecter) has the
// properties on which the managed reconciler relies. It is for authors of providers. Start with Run, in a test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Suite{...})
//	}
//
// The author provides the connecter, objects as users would apply them, changes of their specs, and a Probe. A Probe
// reads the external system without the client. The external system may be a fake or the real one.
//
// The suite first calls the client directly, without a reconciler. Then the reconciler calls the client in scenarios,
// with an in-memory API server, cache and queue (package sim). Each scenario runs once without a fault, and once for
// each fault at each boundary. Examples of faults: a response is lost, the process ends before or after a call, another
// replica takes over, a user edits the object. There is one subtest for each property.
//
// The reconciler runs in virtual time, but the client and the external system run in real time. If the external system
// needs time to apply a change, set Suite.Delay or Suite.Patience. The suite never makes concurrent calls for an
// object. The timestamps of an object are in the year 2000.
//
// A Probe that embeds the result of FaultProxy, a TCP proxy in front of a real server, also injects faults between two
// requests of one call.
//
// While the suite runs, nothing else may use the samples and their external resources.
package conformance
