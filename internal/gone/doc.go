// Package gone distinguishes the answer that an object does not exist from other answers with
// the code 404. IsNotFound of k8s.io/apimachinery and IgnoreNotFound of controller-runtime
// accept all of them, and some say nothing about the object:
//
//   - the page of a load balancer or of a proxy whose backends are away;
//   - the answer of an API server that does not serve the kind yet, or any more: one
//     replica of several learns of a definition later than another;
//   - the answer to a version, or to a scope, that the server does not serve;
//   - the answer to a write of the status of a kind that has no status subresource,
//     which names the object although the object is there;
//   - the answer to a write that names another object: the namespace, or an object that
//     a webhook did not find.
//
// A controller that takes one of them for the end of the object forgets the external resource,
// or stops reconciling the object. The first three have the cause UnexpectedServerResponse, or
// do not name the object. So [Answered] requires the name, without that cause.
//
// The last two are answers to writes, and therefore the answer to a write of a subresource or
// to a create is never enough: [Confirmed] reads the object from the API server, and only that
// answer counts; [IgnoreConfirmed] does so after a write. The API server looks the object of a
// DELETE or a PATCH up as that of a GET: if the answer has the name of the object, [Ignore] may
// drop the error.
//
// A test of internal/hygiene forbids the functions that this package replaces. Examples, which
// use only public packages, call IsNotFound of pkg/resource.
//
// A cache answers with the name of the object too. It says that the cache does not have
// the object, perhaps because it does not have it yet. That is enough to end a pass,
// because the event that brings the object begins another one; and to create an object,
// because the API server refuses to create what exists. It is not enough to clean up or to
// forget: for that, give [Confirmed] a reader without a cache.
package gone
