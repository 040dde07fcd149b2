// Package systemtest is for tests of the whole provider: against a real API
// server and real NATS servers, as the user who may do only what the generated
// role allows. It has no other code.
package systemtest
