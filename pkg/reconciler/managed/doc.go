// Package managed keeps Kubernetes objects and the resources of an external API in sync. It is for authors of
// providers. Every external resource belongs to one object, with which it is created, observed, corrected and
// deleted.
//
// An author writes an [ExternalConnecter] and an [ExternalClient] with the four methods Observe, Create, Update and
// Delete, and calls [Setup]. That is a whole provider; see the example.
//
// # A pass
//
// One reconcile of one object is a pass. It gathers plain facts, lets a pure function (package internal/lifecycle)
// decide on one action, takes it, and decides again, until an action ends the pass. Then one report writes what
// changed in the status, emits events and returns when to requeue.
//
//	Reconcile -> pass -> facts -> decide -> action -+
//	                       ^_______ knowledge ______|
//	                                                v
//	             report: conditions, events, log, metric, requeue, status
//
// A pass makes at most one change in the external system and observes again after it, so that Ready, up to date or
// gone is known at once.
//
// # What is written, and when
//
// Nothing is written that has not changed: a steady pass sends no request to the API server. All writes are patches
// of what changed.
//
//   - Before Create: finalizer, external name and the pending mark of the attempt, in one
//     write that fails after a stale read. With
//     [WithDeterministicExternalName] the mark is not needed.
//   - After Create: the annotations it changed and the mark of the result, in one
//     write that cannot conflict, under a context that survives a shutdown.
//   - At the end: the status, once, on the newest version known.
//
// So an object takes three requests from its creation to Ready, or two with a deterministic name; a change takes
// one at most, and a deletion one.
//
// # Safety
//
// The finalizer is stored before the first Create, and removed only when the external system has answered "not
// found" twice, or once after a Delete. A Create whose result is unknown, or was never observed, is not repeated
// because time passes: only if the external name was chosen here, if its token leads to the same resource
// ([WithCreationTokens]), or if a lookup has shown that there is none ([CreationRecoverer]). That it was observed
// is recorded in the condition Created. A resource of another owner is neither changed nor deleted, unless a policy
// allows it, and no call goes to another external system than that of the resource ([BackendIdentifier]).
//
// # Annotations for users
//
//   - krateo.io/paused: "true" stops everything.
//   - krateo.io/management-policy: default, observe-create-update,
//     observe-delete or observe.
//   - krateo.io/deletion-policy: delete or orphan.
//   - krateo.io/external-name: the name of the external resource.
//   - moorage.dev/adoption-policy: never, if-unowned, if-matching or force.
//   - moorage.dev/poll-interval: a duration such as 30s.
//   - moorage.dev/reconcile-requested-at: a new value requests a pass at once.
//   - moorage.dev/allow-backend-change: the identity of the external system in
//     which the object may continue.
//   - moorage.dev/abandon-attempt: the id of an attempt to create that is to be
//     given up.
package managed
