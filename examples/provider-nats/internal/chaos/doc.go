// Package chaos breaks everything round the provider while people work with it,
// and then asks whether what is in NATS is exactly what the objects say. Start
// with [Run].
//
// A round is a while in which objects are created, changed, deleted and created
// anew while the provider is killed, the API server and NATS come and go, and the
// leader of two replicas is suspended for longer than its lease. In one of two rounds
// at least, streams share lists and are told of by JetStream, as in production; in the
// others each is looked at by itself. Then the faults
// end, and all has to come to rest: each object that is being deleted is gone,
// each other one has the stream or consumer it asks for, with its own stamp, and
// there is nothing else but what strangers put there, untouched.
//
// Meanwhile people replace objects by their manifests, and a proxy between the provider and the
// API server answers one of a hundred requests with a page. After the rounds the API server is
// restored to an earlier state under two replicas, and a policy drops what the provider writes
// into annotations: nothing may be created then, and every object has to say why.
//
// What is true is asked of the API server and of NATS, never of the provider.
package chaos
