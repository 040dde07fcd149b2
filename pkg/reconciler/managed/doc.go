// Package managed is for authors of providers: it keeps Kubernetes objects and
// the resources behind an external API in step. Every external resource is
// moored to one object, which is created, watched, corrected and deleted with
// it.
//
// An author writes an [ExternalConnecter] and an [ExternalClient] with the four
// methods Observe, Create, Update and Delete, and calls [Setup]. That is a
// whole provider; see the example.
//
// # A pass
//
// One reconcile of one object is a pass. It gathers what is known as plain
// facts, lets a pure function (package internal/lifecycle) decide on one action,
// takes it, and decides again, until an action ends the pass. Then one report
// writes what changed in the status, emits events and says when to look again.
//
//	Reconcile -> pass -> facts -> decide -> action -+
//	                       ^_______ knowledge ______|
//	                                                v
//	             report: conditions, events, log, metric, requeue, status
//
// A pass makes at most one change outside and looks again after it, so that
// Ready, up to date or gone is known at once.
//
// # What is written, and when
//
// Nothing is written that has not changed: a pass that finds all as it was sends
// no request to the API server. All writes are patches of what changed.
//
//   - Before Create: finalizer, external name and the mark of the attempt, in one
//     write that fails if the object was read stale. With
//     [WithDeterministicExternalName] the mark is not needed.
//   - After Create: the annotations it changed and the mark of the result, in one
//     write that cannot conflict, under a context that survives a shutdown.
//   - At the end: the status, once, on the newest version known.
//
// So an object takes three requests from its creation to Ready, or two with a
// deterministic name; a change takes one at most, and a deletion one.
//
// # Safety
//
// The finalizer is there before the first Create, and leaves only when the
// external system says so twice, or once after a Delete. A Create whose result is
// not known, or was never found by an observation, is not repeated because time
// passes: only if the external name was chosen here, if its token leads to the
// same resource ([WithCreationTokens]), or if a lookup has shown that there is
// none ([CreationRecoverer]). That it was found is kept in the condition Created.
// What belongs to somebody else is neither changed nor deleted, unless a policy
// says so, and nothing is called in another system than the one in which the
// resource is ([BackendIdentifier]).
//
// # Annotations for users
//
//   - krateo.io/paused: "true" stops everything.
//   - krateo.io/management-policy: default, observe-create-update,
//     observe-delete or observe.
//   - krateo.io/deletion-policy: delete or orphan.
//   - krateo.io/external-name: the name of the resource outside.
//   - moorage.dev/adoption-policy: never, if-unowned, if-matching or force.
//   - moorage.dev/poll-interval: a duration such as 30s.
//   - moorage.dev/reconcile-requested-at: a new value asks for a pass at once.
//   - moorage.dev/allow-backend-change: the identity of the external system in
//     which the object may go on.
//   - moorage.dev/abandon-attempt: the id of an attempt to create that is to be
//     given up.
package managed
