// Package patch applies the patches that a Kubernetes API server accepts for
// custom resources to the JSON images of objects. Start with Apply. The tests of
// pkg/sim/apiserver compare it with a real API server, patch by random patch.
package patch
