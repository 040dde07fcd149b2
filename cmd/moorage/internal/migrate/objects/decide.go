package objects

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An Object is what is read of one.
type Object struct {
	Metadata struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
		Finalizers      []string          `json:"finalizers"`
		Deleted         string            `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec   Spec `json:"spec"`
	Status struct {
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// A Spec is what is read of one.
type Spec struct {
	DeletionPolicy     string
	ManagementPolicies *[]string
}

// UnmarshalJSON reads the policies. A field that is of another type in a kind is none.
func (s *Spec) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage

	_ = json.Unmarshal(text, &fields)
	_ = json.Unmarshal(fields["deletionPolicy"], &s.DeletionPolicy)

	var policies []string
	if err := json.Unmarshal(fields["managementPolicies"], &policies); err == nil && policies != nil {
		s.ManagementPolicies = &policies
	}

	return nil
}

// A Condition is what is read of one.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// condition returns that of a type, or nothing.
func (o Object) condition(of string) Condition {
	for _, c := range o.Status.Conditions {
		if c.Type == of {
			return c
		}
	}

	return Condition{}
}

// created returns the condition by which Moorage reports the result of a creation, or the zero value. A condition of
// the same type with another reason is the provider's own.
func (o Object) created() Condition {
	switch c := o.condition("Created"); c.Reason {
	case "Observed", "Unresolved", "GivenUp":
		return c
	default:
		return Condition{}
	}
}

// A Change is what is to be done with one object.
type Change struct {
	Resource  string // as kubectl calls the kind
	Namespace string
	Name      string

	ResourceVersion string            // of the object that was read: another one is not changed
	Annotations     map[string]string // to set
	Finalizers      []string          // to leave, if Take is not empty
	Take            []string          // finalizers to take off
	Put             []string          // those among Finalizers that are new
	Drop            []string          // annotations to remove
	Orphan          bool              // whether to set spec.deletionPolicy
	Conditions      []Indexed         // to remove from the status, the last one first

	Pending   []string // finalizers that stay until Moorage's is set
	Conflicts []string // what a person has to decide
	Notes     []string // values without an effect that a user may expect one from
}

// An Indexed is a condition by its place in the list.
type Indexed struct {
	Index int
	Type  string
}

// Empty reports whether there is nothing to do now.
func (c Change) Empty() bool { return !c.changesObject() && len(c.Conditions) == 0 }

// changesObject reports whether more is changed than the status.
func (c Change) changesObject() bool {
	return len(c.Annotations)+len(c.Drop)+len(c.Take) > 0 || c.Orphan
}

// Role says what objects of a kind are for.
type Role int

// The roles there are.
const (
	Managed       Role = iota // stands for a resource
	Configuration             // says how to connect
)

// annotations are those of crossplane-runtime, by those of Moorage.
var annotations = map[string]string{
	"krateo.io/external-name":             "crossplane.io/external-name",
	"krateo.io/external-create-pending":   "crossplane.io/external-create-pending",
	"krateo.io/external-create-succeeded": "crossplane.io/external-create-succeeded",
	"krateo.io/external-create-failed":    "crossplane.io/external-create-failed",
	"krateo.io/paused":                    "crossplane.io/paused",
	"moorage.dev/poll-interval":           "crossplane.io/poll-interval",
}

const (
	externalName   = "krateo.io/external-name"
	paused         = "krateo.io/paused"
	deletionPolicy = "krateo.io/deletion-policy"
)

// finalizers are those of crossplane-runtime, with those of Moorage that replace them.
var finalizers = map[Role][2]string{
	Managed:       {"finalizer.managedresource.crossplane.io", "finalizer.managedresource.krateo.io"},
	Configuration: {"in-use.crossplane.io", "in-use.moorage.dev"},
}

// leaving says what becomes of objects that are being deleted without a finalizer of ours:
// the API server allows no new finalizer on them.
var leaving = map[Role]string{
	Managed: "is being deleted since before Moorage: managed.WithRetiredFinalizers, which xp.NewReconciler gives, ends " +
		"the deletion; " +
		"without it, let the runtime before end it. If you remove the finalizer by hand, the external resource stays",
	Configuration: "is being deleted since before Moorage: providerconfig.WithRetiredFinalizers ends the deletion when " +
		"nothing uses the configuration any more; " +
		"without it, let the runtime before end it",
}

// decide returns what is to be done with an object.
func decide(resource string, role Role, o Object) Change {
	c := Change{
		Resource: resource, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name,
		ResourceVersion: o.Metadata.ResourceVersion, Annotations: map[string]string{},
	}

	if role == Managed {
		c.annotate(o)
	}

	c.release(role, o)

	return c
}

// annotate carries over annotations, or nothing if a person has to decide what the object stands for.
func (c *Change) annotate(o Object) {
	have := o.Metadata.Annotations

	if c.Conflicts = conflicts(o); len(c.Conflicts) > 0 {
		return
	}

	if !taken(o) {
		c.marks(have)
	}

	if there := annotations[paused]; have[there] == "true" && have[paused] != "" && have[paused] != "true" {
		c.Notes = append(c.Notes, fmt.Sprintf("%s is \"true\", and has no effect: %s is %q", there, paused,
			have[paused]))
	}

	// Also of an object that is taken: the finalizer of provider-runtime v0.7 is the same.
	if have[deletionPolicy] == "" && strings.EqualFold(o.Spec.DeletionPolicy, "orphan") {
		c.Annotations[deletionPolicy] = "orphan"
	}
}

// taken reports whether Moorage has kept the object. A pause or a mark that is missing then was removed on purpose: by
// a user who found out the result of a creation. An object in deletion, which gets no finalizer of Moorage any more,
// may be an exception.
func taken(o Object) bool {
	return slices.Contains(o.Metadata.Finalizers, finalizers[Managed][1]) ||
		o.Metadata.Annotations[createAttempt] != "" || o.Metadata.Annotations[wasUnresolved] != "" ||
		o.created().Status != ""
}

// marks carries over values that Moorage's annotations lack. Existing ones win, because they are newer.
func (c *Change) marks(have map[string]string) {
	for here, there := range annotations {
		if value := have[there]; value != "" && have[here] == "" && (here != paused || value == "true") {
			c.Annotations[here] = value
		}
	}
}

// release removes a finalizer if Moorage's is set. Otherwise the object could be deleted without its external
// resource.
func (c *Change) release(role Role, o Object) {
	theirs, ours := finalizers[role][0], finalizers[role][1]

	switch {
	case !slices.Contains(o.Metadata.Finalizers, theirs):
	case !slices.Contains(o.Metadata.Finalizers, ours) && o.Metadata.Deleted != "":
		c.Conflicts = append(c.Conflicts, leaving[role])
	case !slices.Contains(o.Metadata.Finalizers, ours):
		c.Pending = append(c.Pending, theirs)
	case len(c.Conflicts) == 0:
		c.Take = append(c.Take, theirs)
		c.Finalizers = slices.DeleteFunc(slices.Clone(o.Metadata.Finalizers),
			func(f string) bool { return f == theirs })
	}
}
