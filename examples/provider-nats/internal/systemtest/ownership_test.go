package systemtest

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestOwnership: a stream has the stamp of its object at all times, and one with another stamp is left
// alone, even if it was ours.
func TestOwnership(t *testing.T) {
	runProvider(t, badPoll)

	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k.prepare(w)

			mg := k.make(w, "data")
			w.create(mg)
			w.awaitReady(mg)
			w.checkStamp(k, mg, "creation", nil)

			w.patch(mg, func() { k.edit(mg) })
			w.await(mg, "is edited", func() bool { return k.edited(w, "data") })
			w.checkStamp(k, mg, "a user's update", nil)

			team := map[string]string{"team": "blue"}
			w.patch(mg, func() { k.label(mg, team) })
			w.await(mg, "is labelled", func() bool { return k.metadata(w, "data")["team"] == "blue" })
			w.checkStamp(k, mg, "an update of the metadata", team)

			k.tamper(w, "data", k.metadata(w, "data"))
			w.await(mg, "is corrected", func() bool { return k.edited(w, "data") })
			w.checkStamp(k, mg, "the correction of a drift", team)

			w.strip(k, mg)
			w.checkStamp(k, mg, "the loss of all metadata", team)
			w.lose(k, mg)
		})
	}
}

// strip removes all metadata, as a tool without metadata does. It is still the same stream, so it is
// corrected and marked again.
func (w *world) strip(k kind, mg resource.Managed) {
	w.Helper()
	k.tamper(w, "data", nil)
	w.await(mg, "is corrected", func() bool { return k.edited(w, "data") })
	w.awaitReady(mg)
}

// lose gives the stream to an equal object in another cluster.
func (w *world) lose(k kind, mg resource.Managed) {
	w.Helper()

	stamp := string(managed.NewStamp("another-cluster", k.GroupVersionKind().GroupKind(), mg))
	k.tamper(w, "data", map[string]string{managed.StampKey: stamp})
	w.awaitSynced(mg, "False/ExternalResourceNotOwned")

	if c := mg.GetCondition(commonv1.TypeReady); c.Status == "True" {
		w.Errorf("an object without a stream is ready: %+v", c)
	}

	w.leftAlone(mg)
}

// leftAlone checks that an object which owns nothing does nothing, neither now nor when it is deleted.
func (w *world) leftAlone(mg resource.Managed) {
	w.Helper()

	before, version := w.snapshot(), mg.GetResourceVersion()
	n := logged.count(w.ns, mg.GetName())
	wait.Until(w.T, "more looks", func() bool { return logged.count(w.ns, mg.GetName()) >= n+3 })

	if w.read(mg); mg.GetResourceVersion() != version {
		w.Error("the object is written again and again")
	}

	w.delete(mg)
	w.awaitGone(mg)

	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		w.Errorf("a resource of another owner was changed: -before, +after:\n%s", diff)
	}
}

// TestNotOurs: a stream that existed before the object stays unchanged, also when the object is deleted.
func TestNotOurs(t *testing.T) {
	runProvider(t, badPoll)

	// The stamp of the object that finds it.
	cases := map[string]struct {
		reason string
		stamp  func(w *world, k kind, mg resource.Managed) string
	}{
		"Unowned": {
			reason: "a stream without a stamp",
			stamp:  func(*world, kind, resource.Managed) string { return "" },
		},
		"OtherCluster": {
			reason: "the same object, but in another cluster",
			stamp: func(_ *world, k kind, mg resource.Managed) string {
				return string(managed.NewStamp("another-cluster", k.GroupVersionKind().GroupKind(), mg))
			},
		},
		"Predecessor": {
			reason: "another object of the same name",
			stamp: func(w *world, k kind, mg resource.Managed) string {
				return strings.Replace(string(stampOf(w, k.Kind, mg)), string(mg.GetUID()), "another-uid", 1)
			},
		},
		"OtherKind": {
			reason: "a resource of one kind does not belong to another kind",
			stamp: func(w *world, k kind, mg resource.Managed) string {
				for _, other := range kinds() {
					if other.resource != k.resource {
						return string(stampOf(w, other.Kind, mg))
					}
				}

				return "no other kind"
			},
		},
	}

	for name, tc := range cases {
		for kindName, k := range kinds() {
			t.Run(kindName+name, func(t *testing.T) {
				t.Parallel()

				w := newWorld(t)
				k.prepare(w)

				mg := k.make(w, "data")
				w.paused(mg)
				k.plant(w, "data", metadata(tc.stamp(w, k, mg)))
				w.resume(mg)
				w.awaitSynced(mg, "False/ExternalResourceNotOwned")
				w.leftAlone(mg)

				if t.Failed() {
					t.Log(tc.reason)
				}
			})
		}
	}
}

// TestForce: by the policy force a user takes over the resource of a former object. It gets the desired
// state and the user's mark, and is deleted with the user's object.
func TestForce(t *testing.T) {
	runProvider(t, badPoll)

	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorld(t)
			k.prepare(w)
			before := w.snapshot()

			mg := k.make(w, "data")
			k.edit(mg)
			w.paused(mg)
			k.plant(w, "data", metadata(strings.Replace(string(stampOf(w, k.Kind, mg)), string(mg.GetUID()), "another-uid", 1)))
			w.resume(mg)
			w.awaitSynced(mg, "False/ExternalResourceNotOwned")

			w.annotate(mg, meta.AnnotationKeyAdoptionPolicy, meta.AdoptionPolicyForce)
			w.await(mg, "is carried out", func() bool { return ready(mg) && k.edited(w, "data") })
			w.checkStamp(k, mg, "the adoption", nil)

			w.delete(mg)
			w.awaitGone(mg)

			if diff := cmp.Diff(before, w.snapshot()); diff != "" {
				t.Errorf("the resource that was taken over is left: -before, +after:\n%s", diff)
			}
		})
	}
}

func metadata(stamp string) map[string]string {
	if stamp == "" {
		return nil
	}

	return map[string]string{managed.StampKey: stamp}
}

// checkStamp checks that the metadata are the stamp and those of the user.
func (w *world) checkStamp(k kind, mg resource.Managed, after string, user map[string]string) {
	w.Helper()

	want := map[string]string{managed.StampKey: string(stampOf(w, k.Kind, mg))}
	maps.Copy(want, user)

	got := k.metadata(w, "data")
	maps.DeleteFunc(got, func(key, _ string) bool { return strings.HasPrefix(key, "_nats.") })

	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("metadata after %s: -want, +got:\n%s", after, diff)
	}
}
