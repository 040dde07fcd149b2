// Package managed reconciles Kubernetes objects with the resources of an external API. It is for authors of providers.
// Every external resource belongs to one object. The reconciler creates, observes, updates and deletes the resource
// as the object requires.
//
// An author writes an [ExternalConnecter] and an [ExternalClient] with the four methods Observe, Create, Update and
// Delete, and calls [Setup]. That is a whole provider; see the example.
//
// # A pass
//
// A pass is one reconcile of one object. It gathers facts, which are plain values. A pure function of these facts
// (package internal/lifecycle) chooses one action. The pass executes the action and decides again, until an action
// ends the pass. Then the pass writes the changes of the status, emits events and returns when to requeue.
//
//	Reconcile -> pass -> facts -> decide -> action -+
//	                       ^_______ knowledge ______|
//	                                                v
//	             report: conditions, events, log, metric, requeue, status
//
// A pass makes at most one change in the external system, and observes again after it. So it knows at once whether
// the resource is ready, up to date or gone.
//
// # What is written, and when
//
// The reconciler writes only what has changed, as patches. If nothing has changed, a pass sends no request to the API
// server.
//
//   - Before Create: the finalizer, the external name and the pending annotation of the
//     creation attempt, in one write that fails after a stale read. With
//     [WithDeterministicExternalName] the annotation is not needed.
//   - After Create: the annotations that Create changed and the annotation with its
//     result, in one write that cannot conflict, under a context that survives a shutdown.
//   - At the end: the status, once, on the newest version known.
//
// An object thus takes three requests from its creation to Ready, or two with a deterministic name. A later change of
// the object takes at most one request. The deletion of the object takes one request.
//
// # Safety
//
// The finalizer is stored before the first Create. It is removed only when the external system has answered "not
// found" twice, or once after a Delete.
//
// If the result of a Create is unknown or was never observed, the passage of time alone is no reason to repeat the
// Create. The reconciler repeats it in these cases: the provider chose the external name, the token of the Create leads
// to the same resource ([WithCreationTokens]), or a lookup has shown that there is no resource ([CreationRecoverer]).
// The condition Created records that the result of a Create was observed.
//
// A resource of another owner is neither changed nor deleted, unless a policy allows it. After the resource was
// created or adopted, no call goes to another external system ([BackendIdentifier]).
//
// # Annotations for users
//
//   - krateo.io/paused: "true" stops the reconciliation of the object.
//   - krateo.io/management-policy: default, observe-create-update,
//     observe-delete or observe.
//   - krateo.io/deletion-policy: delete or orphan.
//   - krateo.io/external-name: the name of the external resource.
//   - moorage.dev/adoption-policy: never, if-unowned, if-matching or force.
//   - moorage.dev/poll-interval: a duration such as 30s.
//   - moorage.dev/reconcile-requested-at: a new value requests an immediate pass.
//   - moorage.dev/allow-backend-change: the identity of the external system in
//     which the object may continue.
//   - moorage.dev/abandon-attempt: the id of a creation attempt to give up.
package managed
