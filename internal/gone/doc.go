// Package gone determines whether a response with status 404 means that an object does not exist. IsNotFound of
// k8s.io/apimachinery and IgnoreNotFound of controller-runtime accept every 404. Some of these responses say nothing
// about the object:
//
//   - the page of a load balancer or of a proxy whose backends are unavailable;
//   - the response of an API server that does not serve the kind yet, or no longer serves it: the replicas of an API
//     server may learn of a CustomResourceDefinition at different times;
//   - the response for a version or a scope that the server does not serve;
//   - the response to a write of the status if the kind has no status subresource: it has the name of the object,
//     although the object exists;
//   - the response to a write that names another object: the namespace, or an object that a webhook did not find.
//
// A controller that takes one of these responses as the deletion of the object forgets the external resource, or stops
// reconciling the object. The first three responses have the cause UnexpectedServerResponse, or do not name the object.
// Therefore [Answered] requires the name of the object and the absence of that cause.
//
// The last two are responses to writes. Therefore the response to a create, or to a write of a subresource, is never
// enough. [Confirmed] reads the object from the API server and uses only the response to that read. [IgnoreConfirmed]
// does the same after a write. For a DELETE or a PATCH of the object itself, the API server looks up the object as for
// a GET. If the response has the name of the object, [Ignore] may drop the error.
//
// A test of internal/hygiene forbids IsNotFound of k8s.io/apimachinery and IgnoreNotFound of controller-runtime.
// Examples use only public packages, and call IsNotFound of pkg/resource.
//
// A cache also responds with the name of the object. Its response means that the cache does not have the object, and
// perhaps only does not have it yet. That is enough to end a reconcile, because the event of the object starts another
// one. It is also enough to create an object, because the API server refuses to create an existing object. It is not
// enough to clean up or to forget an object: use [Confirmed] with a reader that is not a cache.
package gone
