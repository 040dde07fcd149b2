// Package conformance is for authors of providers: it finds out whether a client of
// theirs (a managed.ExternalClient and what connects it) can be trusted with
// somebody's cloud. Start with Run, in a test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Suite{...})
//	}
//
// An author gives his connecter, objects as users would apply them, changes of
// their specs, and a Probe: another way to look into the external system, which may
// be a fake or the real one. The client is called as it is; then the real reconciler
// calls it, over an API server, a cache and a queue in memory (package sim), through
// the lives that objects have, while at one boundary after the other something goes
// wrong: an answer is lost, a process dies before or after a call, another takes
// over, a user changes his mind. There is one subtest for each property.
//
// The reconciler lives in virtual time, the client in real time, and the external
// system, too: a system that needs a while for what it is told needs Suite.Delay or
// Suite.Patience. Calls for an object come one at a time; the dates in it are of the
// year 2000.
//
// What the suite is told of must be its own while it runs, and nobody else's.
package conformance
