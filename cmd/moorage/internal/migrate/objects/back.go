package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Predecessor is a runtime that objects can go back to.
type Predecessor string

// The predecessors there are.
const (
	KrateoV07    Predecessor = "krateo-v0.7"
	KrateoV09    Predecessor = "krateo-v0.9"
	CrossplaneV1 Predecessor = "crossplane-v1"
	CrossplaneV2 Predecessor = "crossplane-v2"
)

const (
	managementPolicy = "krateo.io/management-policy"
	createAttempt    = "moorage.dev/create-attempt"
	operation        = "moorage.dev/operation"
	creationDetails  = "moorage.dev/creation-details"
	abandoned        = "moorage.dev/abandon-attempt"
	unclaimed        = "moorage.dev/unclaimed"
	backendIdentity  = "moorage.dev/backend-identity"
	pending          = "krateo.io/external-create-pending"
	succeeded        = "krateo.io/external-create-succeeded"
	failed           = "krateo.io/external-create-failed"
)

// records are annotations and conditions that no predecessor reads or keeps right: they would
// be out of date when Moorage takes the object over again.
var records = struct{ annotations, conditions []string }{
	annotations: []string{createAttempt, backendIdentity, wasUnresolved, "moorage.dev/late-initialized",
		creationDetails, abandoned, "moorage.dev/restored", "moorage.dev/restored-owner"},
	conditions: []string{"Created", "UpToDate", "Reconciling", "Stalled"},
}

// decideBack returns what is to be done with an object before a predecessor keeps it again:
// all of it, or nothing if a person has to decide.
func decideBack(to Predecessor, resource string, role Role, o Object) Change {
	b := &back{to: to, o: o, Change: Change{
		Resource: resource, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name,
		ResourceVersion: o.Metadata.ResourceVersion, Annotations: map[string]string{},
	}}

	if role == Managed {
		b.refuse()
		b.policies()
		b.marks()
		b.forget()
	}

	b.exchange(role)

	if len(b.Conflicts) > 0 {
		return Change{
			Resource: b.Resource, Namespace: b.Namespace, Name: b.Name,
			ResourceVersion: b.ResourceVersion, Conflicts: b.Conflicts,
		}
	}

	return b.Change
}

// A back is the decision about one object that goes back.
type back struct {
	Change

	to Predecessor
	o  Object
}

func (b *back) crossplane() bool { return b.to == CrossplaneV1 || b.to == CrossplaneV2 }

func (b *back) conflict(format string, args ...any) {
	b.Conflicts = append(b.Conflicts, fmt.Sprintf(format, args...))
}

// remove takes annotations off that are there.
func (b *back) remove(keys ...string) {
	for _, key := range keys {
		if _, there := b.o.Metadata.Annotations[key]; there {
			b.Drop = append(b.Drop, key)
		}
	}
}

// kept reports whether Moorage has kept the object, and has not given it back yet: before and after, its
// annotations are those of the predecessor.
func (b *back) kept() bool {
	made := b.o.Metadata.Annotations[createAttempt] != ""
	if !b.crossplane() { // the finalizer says nothing: it is the same
		return made || b.o.created().Status != ""
	}

	return made || slices.Contains(b.o.Metadata.Finalizers, finalizers[Managed][1]) ||
		b.o.created().Status != "" && !slices.Contains(b.o.Metadata.Finalizers, finalizers[Managed][0])
}

// refuse adds conflicts for operations in progress that a predecessor would not know of.
func (b *back) refuse() {
	have := b.o.Metadata.Annotations

	if have[operation] != "" {
		b.conflict("an operation is in progress (%s): let Moorage end it", operation)
	}

	if have[creationDetails] == "pending" {
		b.conflict("connection details that only the creation told are not published (%s): let Moorage publish them",
			creationDetails)
	}

	switch synced := b.o.condition("Synced").Reason; synced {
	case "ExternalResourceNotOwned", "AdoptionNotAllowed":
		if !b.paused() {
			b.conflict(
				"Synced says %s: the external name belongs to another, and %s would change and delete it; choose another name, "+
					"or set %s", synced, b.to, paused)
		}
	case "CreationUnresolved":
		b.conflict("Synced says CreationUnresolved: %s would create again; do first what the condition asks for", b.to)

		return
	case "BackendChanged":
		b.conflict("Synced says %s: %s would create it again in the other system; do first what the condition asks for",
			synced, b.to)
	case "RecreationNotRequested":
		b.conflict(
			"Synced says %s: %s would create an empty one in place of what is lost; do first what the condition asks for",
			synced, b.to)
	default:
		b.hidden()
	}

	if b.kept() {
		b.creation()
	}
}

// paused reports whether the object will be paused there as well. An empty list of policies pauses it for certain in v2
// alone: v1 reads the list only with a feature that a provider may not have.
func (b *back) paused() bool {
	have, all := b.o.Metadata.Annotations, b.o.Spec.ManagementPolicies
	if !b.crossplane() {
		return have[paused] == "true"
	}

	return cmp.Or(have[paused], have[annotations[paused]]) == "true" ||
		b.to == CrossplaneV2 && all != nil && len(*all) == 0
}

// hidden refuses an object of which Synced may have said something before that is a reason to refuse it: a failure, or
// a pause that is over, takes the place of that. What is not the object's, or was found once and is missing, has left
// Ready False.
func (b *back) hidden() {
	synced, ready := b.o.condition("Synced"), b.o.condition("Ready")
	if synced.Reason == "" || synced.Status == "True" || synced.Reason == "ExternalResourceMissing" ||
		synced.Reason == "CreationPending" || b.paused() {
		return
	}

	const until = "let the provider on Moorage run until Synced says more, or set %s and look yourself"

	switch found := b.o.created().Status == "True"; {
	case b.o.Metadata.Annotations[backendIdentity] != "":
		b.conflict(
			"Synced says %s, which hides whether the connection leads to another external system, where %s would create it "+
				"again: "+until, synced.Reason, b.to, paused)
	case ready.Reason == "" || ready.Status == "True" || ready.Reason == "Deleting" ||
		ready.Reason == "Creating" && !found:
		// No resource was found that could have another owner, or it is the object's own.
	default:
		b.conflict(
			"Synced says %s, and Ready %s, which hides whether the external resource is missing, so that %s would create it "+
				"again, or belongs to another, so that it would change and delete that: "+until,
			synced.Reason, ready.Reason, b.to, paused)
	}
}

// creation refuses an object whose last creation has an unknown result, or one whose resource
// was not found yet: after its grace period a predecessor would create it again.
func (b *back) creation() {
	have := b.o.Metadata.Annotations
	id, result, _ := strings.Cut(have[createAttempt], "/")
	created := b.o.created()
	ok, no := at(have[succeeded]), at(have[failed])

	switch {
	case id == "" && created.Status == "" && b.crossplane() && at(have[pending]).After(ok) &&
		at(have[pending]).After(no) && have[pending] == have[annotations[pending]]:
		// The predecessor has begun it, and has its own annotation of it still.
	case created.Status == "Unknown",
		id != "" && result == "",
		at(have[pending]).After(ok) && at(have[pending]).After(no):
		b.conflict("a creation was begun and its result is not known (%s): let Moorage find it out", pending)
	case result == "succeeded" || id == "" && !ok.IsZero() && !ok.Before(no):
		mark := have[createAttempt]
		if mark == "" {
			mark = have[succeeded]
		}

		if created.Status != "True" || !strings.HasPrefix(created.Message, mark+" of ") {
			b.conflict("what was created was not found yet (condition Created): let Moorage find it")
		}
	}
}

// at reads a time. What is no time is long ago.
func at(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)

	return t
}

// policies brings to the spec what annotations forbid, or refuses what cannot be said there.
func (b *back) policies() {
	have, all := b.o.Metadata.Annotations, b.o.Spec.ManagementPolicies
	unrestricted := all == nil || slices.Contains(*all, "*")

	if !b.crossplane() && !unrestricted {
		b.conflict("spec.managementPolicies says %v, which %s does not know: say the same by annotations", *all, b.to)
	}

	if b.to == KrateoV09 {
		if d := have[deletionPolicy]; d != "" && d != "delete" && have[managementPolicy] == "observe-delete" {
			b.conflict("%s is %q, and %s is observe-delete, which %s obeys whatever %[1]s says: change or remove %[3]s",
				deletionPolicy, d, managementPolicy, b.to)
		}

		return
	}

	if policy := have[managementPolicy]; policy != "" && policy != "default" {
		b.conflict("%s is %q, which %s does not know: say the same in the spec, and remove the annotation",
			managementPolicy, policy, b.to)
	}

	listed := b.crossplane() && !unrestricted && slices.Contains(*all, "Delete")

	if policy := have[deletionPolicy]; policy == "" || policy == "delete" {
		if listed && b.to == CrossplaneV1 && strings.EqualFold(b.o.Spec.DeletionPolicy, "orphan") {
			b.conflict(
				"spec.deletionPolicy is Orphan, and spec.managementPolicies has Delete, which %s obeys whatever deletionPolicy "+
					"says: remove Delete there", b.to)
		}

		return
	}

	// Of crossplane-runtime v2, cluster-scoped kinds alone have the field.
	field := b.o.Spec.DeletionPolicy != "" && (b.to != CrossplaneV2 || b.o.Metadata.Namespace == "")

	switch {
	case listed:
		b.conflict(
			"%s is %q, and spec.managementPolicies has Delete, which %s obeys whatever deletionPolicy says: remove Delete "+
				"there, and the annotation", deletionPolicy, have[deletionPolicy], b.to)
	case field:
		b.Orphan = !strings.EqualFold(b.o.Spec.DeletionPolicy, "orphan")
	case b.crossplane() && !unrestricted && (b.to == CrossplaneV2 || len(*all) > 0):
		// They do not have Delete. Without the feature, v1 ignores an empty list, and refuses the object for any other.
	default:
		b.conflict(
			"%s is %q, which %s does not know: forbid the deletion in the spec, by deletionPolicy or managementPolicies, and "+
				"remove the annotation", deletionPolicy, have[deletionPolicy], b.to)
	}

	b.remove(deletionPolicy)
}

// marks gives crossplane-runtime its annotations, and removes ours, so that none of them is
// out of date when Moorage comes back.
func (b *back) marks() {
	if !b.crossplane() {
		return
	}

	for _, ours := range slices.Sorted(maps.Keys(annotations)) {
		b.mark(ours, annotations[ours])
	}
}

func (b *back) mark(ours, theirs string) {
	value, set := b.o.Metadata.Annotations[ours]
	now, known := b.o.Metadata.Annotations[theirs]

	b.remove(ours)

	switch {
	case ours == paused && set && value != "" && value != "true":
		b.remove(theirs) // a user has ended the pause
	case !set && b.kept() && (ours == pending || ours == succeeded || ours == failed):
		b.remove(theirs) // a creation that Moorage knows to be over
	case !set || value == "" || known && now == value:
	case ours == externalName && known && !b.kept():
		b.conflict("%s is %q and %s is %q: look which resource is meant, and set both to its name", ours, value,
			theirs, now)
	case ours == paused || !known || b.kept():
		b.Annotations[theirs] = value
	}
}

// forget removes what only Moorage reads.
func (b *back) forget() {
	b.remove(records.annotations...)

	for i, c := range slices.Backward(b.o.Status.Conditions) {
		if slices.Contains(records.conditions, c.Type) && (c.Type != "Created" || c == b.o.created()) {
			b.Conditions = append(b.Conditions, Indexed{i, c.Type})
		}
	}
}

// exchange puts the finalizer of the predecessor in the place of ours, in one write: there is no
// moment at which nothing keeps the object.
func (b *back) exchange(role Role) {
	theirs, ours := finalizers[role][0], finalizers[role][1]
	now := b.o.Metadata.Finalizers
	next := slices.Clone(now)

	switch held := slices.Contains(now, theirs); {
	case !slices.Contains(now, ours) || role == Managed && !b.crossplane(): // the same there
	case !held && b.o.Metadata.Deleted != "" && role == Configuration:
		b.conflict("is being deleted, and the objects that use it have to go first: let Moorage end the deletion")
	case !held && b.o.Metadata.Deleted != "":
		b.conflict("is being deleted, and nobody can give it the finalizer of %s any more: let Moorage end the deletion",
			b.to)
	case b.crossplane() && !held:
		next[slices.Index(next, ours)] = theirs
		b.Put = append(b.Put, theirs)
		b.Take = append(b.Take, ours)
	default: // theirs is there, or there is none of that kind
		b.Take = append(b.Take, ours)
	}

	if role == Managed && slices.Contains(now, unclaimed) {
		b.Take = append(b.Take, unclaimed)
	}

	if len(b.Take) > 0 {
		b.Finalizers = slices.DeleteFunc(next, func(f string) bool { return slices.Contains(b.Take, f) })
	}
}
