package xp_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/xp"
)

// Keys of the configuration that the record of its use is labelled with.
const (
	labelConfig     = "crossplane.io/provider-config"
	labelConfigKind = "crossplane.io/provider-config-kind"
)

// A former is what the runtime of an origin does with an object, as far as that depends on what is stored.
type former struct {
	*world

	refused map[string]string // why it did nothing, by object
}

// run makes passes over all objects and configurations.
func (f *former) run() {
	f.refused = map[string]string{}

	for range 4 {
		for name, o := range f.all(f.kind) {
			f.pass(name, o)
		}

		f.configure()
	}
}

// mark reads an annotation of the runtime.
func (f *former) mark(o *unstructured.Unstructured, key string) string {
	return o.GetAnnotations()[f.domain+"/"+key]
}

// pass looks at an object once, in the order in which the runtime looks.
func (f *former) pass(name string, o *unstructured.Unstructured) {
	policies, limited, _ := unstructured.NestedStringSlice(o.Object, "spec", "managementPolicies")
	limited = limited && f.crossplane()
	may := func(action string) bool {
		return (!limited || slices.Contains(policies, "*") || slices.Contains(policies, action)) &&
			f.krateoAllows(o, action)
	}
	deleted := o.GetDeletionTimestamp() != nil

	switch {
	case f.mark(o, "paused") == "true", limited && len(policies) == 0:
		return
	case deleted && !f.deletes(o, policies, may("Delete")):
		f.let(o)

		return
	case f.crossplane() && !f.cloud.assign && f.mark(o, "external-name") == "":
		f.annotate(name, map[string]string{"external-name": name})
		o = f.get(f.kind, name)
	}

	succeeded, failed := f.at(o, "external-create-succeeded"), f.at(o, "external-create-failed")
	if begun := f.at(o, "external-create-pending"); begun.After(succeeded) && begun.After(failed) {
		f.refused[name] = "the result of a creation is not known"

		return
	}

	f.track(o)

	external := f.mark(o, "external-name")
	found := f.things[external]

	switch {
	case deleted && f.crossplane() && len(o.GetFinalizers()) > 1:
		f.refused[name] = fmt.Sprintf("the deletion waits for %v", o.GetFinalizers())
	case deleted && found != nil:
		f.cloud.remove(name, external)
	case deleted:
		f.let(o)
	default:
		f.keep(name, o, found, may)
	}
}

// keep creates, completes or changes what is to stay.
func (f *former) keep(name string, o *unstructured.Unstructured, found *thing, may func(string) bool) {
	f.publish(o, found)

	if !slices.Contains(o.GetFinalizers(), f.finalizer()) {
		f.finalize(o, append(o.GetFinalizers(), f.finalizer()))
	}

	var p parameters
	p.Color, _, _ = unstructured.NestedString(o.Object, "spec", "forProvider", "color")
	p.Size, _, _ = unstructured.NestedString(o.Object, "spec", "forProvider", "size")

	switch {
	case found == nil && may("Create"):
		now := time.Now().UTC().Format(time.RFC3339)
		external := f.cloud.make(name, f.mark(o, "external-name"), p)
		f.annotate(name, map[string]string{
			"external-create-pending": now, "external-create-succeeded": now,
			"external-name": external,
		})
	case found == nil:
		f.refused[name] = "the resource does not exist"
	case p.Size == "" && may("LateInitialize"):
		f.patch(f.kind, name, `{"spec":{"forProvider":{"size":"`+found.Size+`"}}}`)
	case found.Color != p.Color && may("Update"):
		f.updated[name]++
		found.Color = p.Color
	}
}

// krateoAllows reads the annotations that provider-runtime v0.8 and later know.
func (f *former) krateoAllows(o *unstructured.Unstructured, action string) bool {
	if f.name != "krateo-v0.9" {
		return true
	}

	switch f.mark(o, "management-policy") {
	case "observe":
		return action == "Observe" || action == "LateInitialize"
	case "observe-create-update":
		return action != "Delete"
	case "observe-delete":
		return action != "Create" && action != "Update"
	}

	return true
}

// deletes says whether the resource goes with its object, where the management policies are these, and allow it or not.
func (f *former) deletes(o *unstructured.Unstructured, policies []string, allowed bool) bool {
	policy, _, _ := unstructured.NestedString(o.Object, "spec", "deletionPolicy")

	switch f.name {
	case "krateo-v0.9":
		if f.mark(o, "management-policy") == "observe-delete" { // counts more than orphan
			return true
		}

		return allowed && slices.Contains([]string{"", "delete"}, f.mark(o, "deletion-policy"))
	case "crossplane-v2": // its namespaced kinds have no such field
		return allowed
	case "crossplane-v1": // policies that list Delete count more than Orphan, and Orphan more than "*"
		return slices.Contains(policies, "Delete") || allowed && policy != "Orphan"
	}

	return policy != "Orphan"
}

func (f *former) at(o *unstructured.Unstructured, key string) time.Time {
	t, _ := time.Parse(time.RFC3339, f.mark(o, key))

	return t
}

// let removes the finalizer of the runtime, and no other.
func (f *former) let(o *unstructured.Unstructured) {
	f.finalize(o, slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == f.finalizer() }))
}

func (f *former) finalize(o *unstructured.Unstructured, names []string) {
	f.Helper()

	base := o.DeepCopy()
	o.SetFinalizers(names)

	if err := f.kube.Patch(f.Context(), o, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
}

func (f *former) annotate(name string, marks map[string]string) {
	f.Helper()

	o := f.get(f.kind, name)
	base, annotations := o.DeepCopy(), maps.Clone(o.GetAnnotations())

	if annotations == nil {
		annotations = map[string]string{}
	}

	for key, value := range marks {
		annotations[f.domain+"/"+key] = value
	}

	o.SetAnnotations(annotations)

	if err := f.kube.Patch(f.Context(), o, client.MergeFrom(base)); err != nil {
		f.Fatal(err)
	}
}

// publish writes the connection Secret whole, its type included, if it is the object's or there is none.
func (f *former) publish(o *unstructured.Unstructured, found *thing) {
	f.Helper()

	name, named, _ := unstructured.NestedString(o.Object, "spec", "writeConnectionSecretToRef", "name")
	if !f.crossplane() || !named || found == nil {
		return
	}

	s := f.get("Secret", name)
	if s == nil {
		f.Errorf("%s: its connection Secret is lost", o.GetName())

		return
	}

	if !metav1.IsControlledBy(s, o) {
		f.refused[o.GetName()] = "the Secret belongs to another"

		return
	}

	text := fmt.Sprintf(`{"type":%q,"stringData":{"username":%q}}`, xp.SecretType, f.mark(o, "external-name"))
	if err := f.kube.Patch(f.Context(), s, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		f.refused[o.GetName()] = "the Secret: " + err.Error()
	}
}

// track records that an object uses its configuration.
func (f *former) track(o *unstructured.Unstructured) {
	f.Helper()

	ref, used, _ := unstructured.NestedStringMap(o.Object, "spec", "providerConfigRef")
	if !f.crossplane() || !used {
		return
	}

	usage := f.blank("ProviderConfigUsage", string(o.GetUID()))
	usage.SetLabels(map[string]string{labelConfig: ref["name"], labelConfigKind: cmp.Or(ref["kind"], f.configs[0])})
	usage.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
		Controller: new(true),
	}})
	usage.Object["providerConfigRef"] = map[string]any{"kind": ref["kind"], "name": ref["name"]}
	usage.Object["resourceRef"] = map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(),
		"uid": string(o.GetUID()),
	}

	if err := f.kube.Create(f.Context(), usage); err != nil && !strings.Contains(err.Error(), "already exists") {
		f.Fatal(err)
	}
}

// configure keeps the configurations while there are records of their use. A record goes with the object that owns
// it: that is what the garbage collector does, which the API server of the tests has not.
func (f *former) configure() {
	objects := map[types.UID]bool{}
	for _, o := range f.all(f.kind) {
		objects[o.GetUID()] = true
	}

	users := map[string]int{}

	if len(f.configs) > 0 {
		for name, usage := range f.all("ProviderConfigUsage") {
			if !objects[usage.GetOwnerReferences()[0].UID] {
				f.remove("ProviderConfigUsage", name)

				continue
			}

			users[usage.GetLabels()[labelConfigKind]+"/"+usage.GetLabels()[labelConfig]]++
		}
	}

	for _, kind := range f.configs {
		for name, o := range f.all(kind) {
			const theirs = "in-use.crossplane.io"

			switch {
			case o.GetDeletionTimestamp() != nil && users[kind+"/"+name] == 0:
				f.finalize(o, slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == theirs }))
			case o.GetDeletionTimestamp() == nil && !slices.Contains(o.GetFinalizers(), theirs):
				f.finalize(o, append(o.GetFinalizers(), theirs))
			}
		}
	}
}
