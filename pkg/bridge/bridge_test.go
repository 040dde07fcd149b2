package bridge_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// TestLife runs a volume through its lifecycle with the managed reconciler, for both
// kinds of syncers.
func TestLife(t *testing.T) {
	for name, first := range map[string]bool{"StatusAndSpec": false, "StatusFirst": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, first)
			w.Create(newVolume("data", 3))

			w.pass()
			p := w.image("data")
			if p == nil || p.Spec.SizeGiB != 3 || w.wrote() != "apply "+p.Name {
				t.Fatalf("not created as it should be: %v", p)
			}
			v := w.virtual()
			if v.GetCondition(commonv1.TypeReady).Status != "True" || v.GetCondition(commonv1.TypeSynced).Status != "True" {
				t.Errorf("not ready: %v", v.Status)
			}

			w.pass()
			if wrote := w.wrote(); wrote != "" {
				t.Errorf("at rest: %s", wrote)
			}
			before := w.virtual().ResourceVersion

			w.patchStatus(p, `{"status":{"id":"disk-7","sizeGiB":3,"conditions":[
				{"type":"Ready","status":"False","reason":"Filling","message":"half full",
					"lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":9},
				{"type":"Encrypted","status":"True","reason":"Yes",
					"lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":9}]}}`)
			w.pass()
			v = w.virtual()
			if v.ResourceVersion == before || v.Status.ID != "disk-7" || v.GetCondition("Encrypted").Status != "True" {
				t.Errorf("the status is not carried up: %v", v.Status)
			}
			if c := v.GetCondition(commonv1.TypeReady); c.Status != "False" || c.Message != "Filling: half full" {
				t.Errorf("it is ready before its host object is: %v", c)
			}
			if c := v.GetCondition("Encrypted"); c.ObservedGeneration == 9 {
				t.Errorf("a generation of the host is shown: %v", c)
			}
			if v.GetCondition(commonv1.TypeSynced).Status != "True" {
				t.Errorf("what the reconciler says is lost: %v", v.Status)
			}
			w.pass()
			if after := w.virtual().ResourceVersion; after != v.ResourceVersion || w.wrote() != "" {
				t.Errorf("written at rest: version %s, was %s", after, v.ResourceVersion)
			}

			v.Spec.SizeGiB = 5
			w.Must(w.API.Update(t.Context(), v))
			w.pass()
			// A patch, because the server in memory does not track field managers.
			if got := w.image("data"); got.Spec.SizeGiB != 5 || got.UID != p.UID || w.wrote() != "patch "+p.Name {
				t.Errorf("not updated: %v", got)
			}
			w.patch(w.image("data"), `{"spec":{"sizeGiB":1}}`)
			w.pass()
			if got := w.image("data"); got.Spec.SizeGiB != 5 {
				t.Errorf("not corrected: %v", got.Spec)
			}
			w.wrote()

			w.Delete(v)
			w.pass()
			if w.image("data") != nil || w.virtual() != nil || w.wrote() != "delete "+p.Name {
				t.Error("not deleted")
			}
		})
	}
}

// TestMarksOfTheReconciler verifies that annotations for the reconciler are not copied to
// the host, and other annotations are.
func TestMarksOfTheReconciler(t *testing.T) {
	w := newWorld(t, false)
	v := newVolume("data", 3)
	v.Annotations = map[string]string{meta.AnnotationKeyPollInterval: "1h", "example.org/colour": "red"}
	w.Create(v)
	w.pass()
	a := w.image("data").Annotations
	if a["example.org/colour"] != "red" || a[meta.AnnotationKeyPollInterval] != "" ||
		a[meta.AnnotationKeyExternalName] != "" {
		t.Errorf("got %v", a)
	}
	w.patch(w.image("data"), `{"metadata":{"annotations":{"krateo.io/external-name":"of-the-host"}}}`)
	w.wrote()
	w.pass()
	if wrote := w.wrote(); wrote != "" || w.image("data").Annotations[meta.AnnotationKeyExternalName] != "of-the-host" {
		t.Errorf("annotations of the host were changed: %s", wrote)
	}
}

// TestForeign verifies that a foreign host object is neither changed nor deleted, and its
// status not copied.
func TestForeign(t *testing.T) {
	w := newWorld(t, false)
	w.Create(newVolume("data", 3))
	foreign := newVolume(hostName("data").Name, 9)
	foreign.Namespace = target
	w.Must(w.p.Create(t.Context(), foreign))
	w.patchStatus(foreign, `{"status":{"id":"secret"}}`)
	w.pass()
	v := w.virtual()
	if c := v.GetCondition(commonv1.TypeSynced); c.Reason != "ExternalResourceNotOwned" || v.Status.ID != "" {
		t.Errorf("got %v, %v", c, v.Status)
	}
	w.Delete(v)
	w.pass()
	if wrote := w.wrote(); wrote != "" || w.virtual() != nil {
		t.Errorf("written: %s; still there: %v", wrote, w.virtual())
	}
}

// TestAdopt verifies that an unowned host object is adopted, marked and synchronized if
// the policy allows it.
func TestAdopt(t *testing.T) {
	w := newWorld(t, false)
	v := newVolume("data", 3)
	v.Annotations = map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned}
	w.Create(v)
	theirs := newVolume(hostName("data").Name, 9)
	theirs.Namespace = target
	w.Must(w.p.Create(t.Context(), theirs))
	w.pass()
	w.pass()
	p := w.image("data")
	if p.Spec.SizeGiB != 3 || p.UID != theirs.UID || len(p.Labels) == 0 {
		t.Errorf("not adopted: %v", p)
	}
	if c := w.virtual().GetCondition(commonv1.TypeReady); c.Status != "True" {
		t.Errorf("got %v", c)
	}
}

// TestRestored verifies that a restored object, which has another UID, does not own its
// image until a user allows it.
func TestRestored(t *testing.T) {
	cases := map[string]struct {
		reason string
		allow  func(w *world)
		anew   bool
	}{
		"Force": {"The policy force adopts the image.", func(w *world) {
			v := w.virtual()
			v.Annotations = map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyForce}
			w.Must(w.API.Update(w.Context(), v))
		}, false},
		"ByHand": {"Without a UID the name decides.", func(w *world) {
			w.patch(w.image("data"), annotation(translator.UIDAnnotation, ""))
		}, false},
		"Deleted": {"After a deletion of the image, a new one is created.", func(w *world) {
			w.Must(w.p.Delete(w.Context(), w.image("data")))
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			v := w.carried()
			w.patch(w.image("data"), annotation(translator.UIDAnnotation, "former"))
			was := w.image("data")
			w.wrote()
			w.pass()
			if c := w.virtual().GetCondition(commonv1.TypeSynced); c.Reason != "ExternalResourceNotOwned" || w.wrote() != "" {
				t.Errorf("%s\nbefore it is allowed: %v", tc.reason, c)
			}
			tc.allow(w)
			w.pass()
			w.pass()
			now := w.image("data")
			if (now.UID != was.UID) != tc.anew || now.Annotations[translator.UIDAnnotation] != string(v.UID) {
				t.Errorf("%s\ngot %v", tc.reason, now.Annotations)
			}
			if c := w.virtual().GetCondition(commonv1.TypeSynced); c.Status != "True" {
				t.Errorf("%s\ngot %v", tc.reason, c)
			}
		})
	}
}

// TestReadiness verifies the Ready condition, by default and with WithReadiness.
func TestReadiness(t *testing.T) {
	full := bridge.WithReadiness(func(pObj client.Object) commonv1.Condition {
		if pObj.(*volume.Volume).Status.UsedBytes > 0 {
			return commonv1.Available()
		}
		return commonv1.Creating()
	})
	cases := map[string]struct {
		reason string
		o      []bridge.Option
		status string
		want   commonv1.Condition
	}{
		"There": {"A host object without a Ready condition is ready.", nil, `{"status":{"id":"a"}}`, commonv1.Available()},
		"Says": {
			"A host object with a true Ready condition is ready.", nil,
			`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Yes",` +
				`"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			commonv1.Available(),
		},
		"Not": {
			"WithReadiness overrides the default.", []bridge.Option{full}, `{"status":{"id":"a"}}`, commonv1.Creating(),
		},
		"AuthorOf": {
			"WithReadiness can report readiness.", []bridge.Option{full}, `{"status":{"usedBytes":1}}`, commonv1.Available(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false, tc.o...)
			v := w.carried()
			w.patchStatus(w.image("data"), tc.status)
			if _, err := w.connect().Observe(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if got := v.GetCondition(commonv1.TypeReady); got.Status != tc.want.Status || got.Reason != tc.want.Reason {
				t.Errorf("%s\ngot %v", tc.reason, got)
			}
		})
	}
}
