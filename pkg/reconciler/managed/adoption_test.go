package managed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A neighbouring client says whose everything is, and in which namespace its owner is.
type neighbouring struct {
	managed.ExternalClient

	owner     managed.Owner
	namespace string
}

func (n neighbouring) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := n.ExternalClient.Observe(ctx, mg)
	o.Owner, o.OwnerNamespace = n.owner, n.namespace

	return o, err
}

// TestAllowedAdoptionPolicies verifies that an object adopts only what the operator allows: other resources are not
// touched, also when the object is deleted, and the object reports why.
func TestAllowedAdoptionPolicies(t *testing.T) {
	const near, far = "default", "other"
	allowing := func(policies ...string) []managed.ReconcilerOption {
		return []managed.ReconcilerOption{managed.WithAllowedAdoptionPolicies(policies...)}
	}
	cases := map[string]struct {
		options   []managed.ReconcilerOption
		policy    string
		owner     managed.Owner
		namespace string
		want      string   // of Synced
		says      []string // besides the ways out
	}{
		"force within a namespace": {nil, "force", managed.OwnerOther, near, "True/ReconcileSuccess", nil},
		"force across namespaces": {nil, "force", managed.OwnerOther, far, "False/AdoptionNotAllowed",
			[]string{`"force"`, "same namespace"}},
		"force, and nobody knows": {nil, "force", managed.OwnerOther, "", "False/AdoptionNotAllowed",
			[]string{`"force"`, "same namespace"}},
		"force for what is nobody's": {nil, "force", managed.OwnerNone, "", "True/ReconcileSuccess", nil},
		"force across namespaces, allowed": {allowing("if-unowned", "force"), "force", managed.OwnerOther, far,
			"True/ReconcileSuccess", nil},
		"force, not allowed": {allowing("if-unowned"), "force", managed.OwnerOther, near,
			"False/AdoptionNotAllowed", []string{`"force"`, "not allowed by this provider"}},
		"force by default, across": {[]managed.ReconcilerOption{managed.WithAdoptionPolicy("force")}, "",
			managed.OwnerOther, far, "False/AdoptionNotAllowed", []string{`"force"`, "same namespace"}},
		"force by default, within": {[]managed.ReconcilerOption{managed.WithAdoptionPolicy("force")}, "",
			managed.OwnerOther, near, "True/ReconcileSuccess", nil},
		"unowned, allowed": {allowing("if-unowned"), "if-unowned", managed.OwnerNone, "",
			"True/ReconcileSuccess", nil},
		"unowned, not allowed": {allowing("if-matching"), "if-unowned", managed.OwnerNone, "",
			"False/AdoptionNotAllowed", []string{`"if-unowned"`, "not allowed by this provider"}},
		"unowned, where owners are unknown": {allowing(), "if-unowned", managed.OwnerUnknown, "",
			"False/AdoptionNotAllowed", []string{`"if-unowned"`}},
		"unowned is of no use anyway": {allowing(), "if-unowned", managed.OwnerOther, near,
			"False/ExternalResourceNotOwned", nil},
		"never": {allowing(), "never", managed.OwnerNone, "",
			"False/ExternalResourceNotOwned", nil},
		"nothing said": {allowing(), "", managed.OwnerUnknown, "", "True/ReconcileSuccess", nil},
		"ours already": {allowing(), "force", managed.OwnerOurs, "", "True/ReconcileSuccess", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.options...)
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient {
				return neighbouring{c, tc.owner,
					tc.namespace}
			})
			w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 7})
			w.create(func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{
					meta.AnnotationKeyExternalName:   "vol-9",
					meta.AnnotationKeyAdoptionPolicy: tc.policy,
				})
			})
			w.pass()
			c := w.condition("Synced", tc.want)
			for _, says := range append(tc.says, ways(tc.want)...) {
				if !strings.Contains(c.Message, says) {
					t.Errorf("%q does not say %q", c.Message, says)
				}
			}
			if strings.HasPrefix(tc.want, "True") {
				if got := w.cloud.Disks()[0].SizeGiB; got != 1 {
					t.Errorf("%d GiB: what was taken over is not as the object wants it", got)
				}

				return
			}
			w.expect(status, "Connect Observe", "Warning/ExternalResourceNotOwned")
			w.condition("Ready", "False/Unavailable")
			w.pass()
			w.expect("", "Connect Observe", "")
			w.delete()
			w.pass()
			if _, calls, _ := w.taken(); !w.gone() || strings.Contains(calls, "Delete") ||
				w.cloud.Disks()[0].SizeGiB != 7 {
				t.Errorf("gone %t, calls %q, disks %v", w.gone(), calls, w.cloud.Disks())
			}
		})
	}
}

// ways returns the ways out that a condition names.
func ways(condition string) []string {
	if condition != "False/AdoptionNotAllowed" {
		return nil
	}

	return []string{meta.AnnotationKeyExternalName, "managed.WithAllowedAdoptionPolicies"}
}

// TestABoundTakesNothingAway verifies that an adopted resource stays owned when its policy is not allowed any more,
// if its mark says so.
func TestABoundTakesNothingAway(t *testing.T) {
	w := newWorld(t, managed.WithAllowedAdoptionPolicies(meta.AdoptionPolicyIfUnowned))
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return neighbouring{c, managed.OwnerNone, ""} })
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 7})
	w.create(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{
			meta.AnnotationKeyExternalName: "vol-9", meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned,
		})
	})
	w.pass()
	w.o = append(w.o, managed.WithAllowedAdoptionPolicies())
	w.restart()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 9 })
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
	if got := w.cloud.Disks()[0].SizeGiB; got != 9 {
		t.Errorf("%d GiB", got)
	}
}

// TestStampsTellTheNamespace reads what stamps say, and what is none.
func TestStampsTellTheNamespace(t *testing.T) {
	v := atKey()
	for found, want := range map[managed.Stamp]string{
		managed.NewStamp("cluster-1", volume.GroupVersion.WithKind("Volume").GroupKind(), v): key.Namespace,
		"cluster-1//Node//n/uid": "",
		"":                       "", "x": "", "a/b/c/d/e": "", "a/b/c/d/e/f/g": "",
	} {
		if got := found.Namespace(); got != want {
			t.Errorf("%q.Namespace() = %q, want %q", found, got, want)
		}
	}
}
