// Package chaos injects faults around the provider while simulated users work with it, and then checks that
// NATS contains exactly what the objects ask for. Start with [Run].
//
// A round is a period in which objects are created, changed, deleted and created anew while the provider is
// killed, the API server and NATS stop and start, and the leader of two replicas is suspended for longer
// than its lease. In at least one of two successive rounds, streams share lists and JetStream notifies of
// their changes, as in production; in the others each is observed separately. Then the faults end, and
// everything has to settle: each object that is being deleted is gone, each other one has the stream or
// consumer that it asks for, with its own stamp, and there is nothing else but the foreign resources,
// untouched.
//
// Meanwhile users replace objects by their manifests, and a proxy between the provider and the API server
// answers one of a hundred requests with a page. After the rounds the API server is restored to an earlier
// state under two replicas, and a policy drops the annotations that the provider writes: nothing may be
// created then, and every object has to say why.
//
// The state is read from the API server and from NATS, never from the provider.
package chaos
