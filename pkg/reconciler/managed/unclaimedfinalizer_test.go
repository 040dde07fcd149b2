package managed_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	backup = "example.org/backup"
	own    = "example.org/own"
)

// TestUnclaimed verifies that an object with UnclaimedFinalizer is never removed unseen, and is released at once
// without an external resource.
func TestUnclaimed(t *testing.T) {
	cases := map[string]struct {
		reason  string
		born    []string
		delete  bool // before the first pass
		authors bool // the finalizer is
		policy  string
		calls   string
		want    []string // finalizers afterwards; none: it is gone
	}{
		"Claimed": {
			reason: "Ours takes its place in the write that comes before anything is created.",
			born:   []string{managed.UnclaimedFinalizer}, calls: "Create", want: []string{managed.FinalizerName},
		},
		"ClaimedBesideOthers": {
			reason: "Others keep theirs.",
			born:   []string{backup, managed.UnclaimedFinalizer}, calls: "Create",
			want: []string{backup, managed.FinalizerName},
		},
		"ClaimedByAnAuthors": {
			reason:  "An author's finalizer keeps the object as ours does.",
			authors: true, born: []string{managed.UnclaimedFinalizer}, calls: "Create", want: []string{own},
		},
		"Deleted": {
			reason: "There is nothing of it outside.", born: []string{managed.UnclaimedFinalizer},
			delete: true,
		},
		"DeletedOfAuthors": {
			reason: "The author was never asked to keep it.", authors: true,
			born: []string{managed.UnclaimedFinalizer}, delete: true,
		},
		"DeletedAndNotUnderstood": {
			reason: "Whatever the policy is to mean, nothing was made by it.",
			born:   []string{managed.UnclaimedFinalizer}, delete: true, policy: "bogus",
		},
		"DeletedAndLookedAtOnly": {
			reason: "Who may only look has nothing to let go.",
			born:   []string{managed.UnclaimedFinalizer}, delete: true, policy: meta.ManagementPolicyObserve,
		},
		"DeletedBesideOthers": {
			reason: "What others do with it is not ours to wait for.",
			born:   []string{managed.UnclaimedFinalizer, backup}, delete: true, want: []string{backup},
		},
	}
	for name, tc := range cases {
		for _, named := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "Named"}[named], func(t *testing.T) {
				w := newWorld(t, managed.WithDeterministicExternalName(named))
				w.cloud.Named = named
				if tc.authors {
					w.o = append(w.o, managed.WithFinalizer(resource.NewAPIFinalizer(w.API, own)))
					w.restart()
				}
				w.create(func(v *volume.Volume) {
					v.Finalizers = tc.born
					if tc.policy != "" {
						meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyManagementPolicy: tc.policy})
					}
				})
				if tc.delete {
					w.delete()
				}
				for range 2 {
					w.pass()
				}
				if _, calls, _ := w.taken(); mutating(calls) != tc.calls {
					t.Errorf("%s\ncalls %q", tc.reason, calls)
				}
				if tc.want == nil {
					if !w.gone() {
						t.Errorf("%s\nthe object is still there, with finalizers %q", tc.reason, w.get().Finalizers)
					}

					return
				}
				if diff := cmp.Diff(tc.want, w.get().Finalizers); diff != "" {
					t.Errorf("%s\nfinalizers: -want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// TestUnclaimedCostsNothing verifies that the replacement is part of another write, and causes no pass.
func TestUnclaimedCostsNothing(t *testing.T) {
	var with, without string
	for requests, born := range map[*string][]string{&with: {managed.UnclaimedFinalizer}, &without: nil} {
		w := newWorld(t)
		w.create(func(v *volume.Volume) { v.Finalizers = born })
		before := w.get()
		w.pass()
		*requests, _, _ = w.taken()
		now := before.DeepCopyObject().(*volume.Volume)
		now.Finalizers = w.get().Finalizers
		if w.r.Predicate().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}) {
			t.Errorf("from finalizers %q to %q: our own write asks for a pass", before.Finalizers, now.Finalizers)
		}
	}
	if with != without {
		t.Errorf("requests %q, and without it %q", with, without)
	}
}

// TestUnclaimedAddedLater verifies that adding UnclaimedFinalizer to a claimed object does no harm.
func TestUnclaimedAddedLater(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.change(func(v *volume.Volume) { v.Finalizers = append(v.Finalizers, managed.UnclaimedFinalizer) })
	w.pass()
	w.delete()
	w.pass()
	if !w.gone() {
		t.Errorf("the object is still there, with finalizers %q", w.get().Finalizers)
	}
	if left := w.cloud.Disks(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestUnclaimedAndPaused verifies that a paused object keeps its finalizers.
func TestUnclaimedAndPaused(t *testing.T) {
	w := newWorld(t)
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.UnclaimedFinalizer}
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	})
	w.delete()
	w.pass()
	if requests, _, _ := w.taken(); requests != "patch status" || w.gone() {
		t.Errorf("requests %q", requests)
	}
	w.change(func(v *volume.Volume) { meta.RemoveAnnotations(v, meta.AnnotationKeyReconciliationPaused) })
	w.pass()
	if !w.gone() {
		t.Errorf("the object is still there, with finalizers %q", w.get().Finalizers)
	}
}
