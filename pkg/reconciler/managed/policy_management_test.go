package managed_test

import (
	"fmt"
	"strings"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func policies(p ...commonv1.ManagementAction) func(*volume.Snapshot) {
	return func(s *volume.Snapshot) { s.Spec.ManagementPolicies = append(commonv1.ManagementPolicies{}, p...) }
}

// TestSpecAndAnnotationBothHaveToAllow verifies that an action needs both the spec and the annotations.
func TestSpecAndAnnotationBothHaveToAllow(t *testing.T) {
	const observe, create, update, remove = commonv1.ManagementActionObserve, commonv1.ManagementActionCreate,
		commonv1.ManagementActionUpdate, commonv1.ManagementActionDelete
	cases := map[string]struct {
		spec       []commonv1.ManagementAction
		annotation string
		deletion   string
		old        volume.DeletionPolicy
		calls      string // of a pass over a new object, one over a changed one, and the passes of its end
	}{
		"everything": {[]commonv1.ManagementAction{"*"}, "", "", "", "Create | Update | Delete"},
		"no create": {[]commonv1.ManagementAction{observe, update, remove}, "", "", "",
			" | Update | Delete"},
		"no update": {[]commonv1.ManagementAction{observe, create, remove}, "", "", "",
			"Create |  | Delete"},
		"no delete": {[]commonv1.ManagementAction{observe, create, update}, "", "", "",
			"Create | Update | "},
		"orphan wins over the spec": {[]commonv1.ManagementAction{"*"}, "", "orphan", "", "Create | Update | "},
		"orphan wins over observe-delete": {[]commonv1.ManagementAction{"*"}, "observe-delete", "orphan", "",
			" |  | "},
		"the spec forbids what one allows": {[]commonv1.ManagementAction{observe, create}, "observe-delete", "", "",
			" |  | "},
		"orphan in the spec": {[]commonv1.ManagementAction{"*"}, "", "", "Orphan", "Create | Update | "},
		"the stricter wins: the spec": {[]commonv1.ManagementAction{"*"}, "", "delete", "Orphan",
			"Create | Update | "},
		"the stricter wins: annotation": {[]commonv1.ManagementAction{"*"}, "", "orphan", "Delete",
			"Create | Update | "},
		"the stricter wins: policies": {[]commonv1.ManagementAction{observe, create}, "", "", "Delete",
			"Create |  | "},
		"delete in the spec": {[]commonv1.ManagementAction{"*"}, "", "", "Delete",
			"Create | Update | Delete"},
		"only looked at": {[]commonv1.ManagementAction{observe}, "", "", "", " |  | "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, managed.WithCreationGracePeriod(0))
			g.create(func(s *volume.Snapshot) {
				policies(tc.spec...)(s)
				s.Spec.DeletionPolicy = tc.old
				meta.AddAnnotations(s, map[string]string{
					meta.AnnotationKeyManagementPolicy: tc.annotation,
					meta.AnnotationKeyDeletionPolicy:   tc.deletion,
				})
			})
			g.pass()
			got := mutations(g)
			if len(g.cloud.Disks()) == 0 {
				g.cloud.Put(volume.Disk{ID: "vol-7", SizeGiB: 1, Source: "vol-0", Password: "p"})
				g.annotate(meta.AnnotationKeyExternalName, "vol-7")
				g.pass()
			}
			g.cloud.Forget()
			g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 5 })
			g.pass()
			got += " | " + mutations(g)
			g.delete()
			g.pass()
			got += " | " + mutations(g)
			if got != tc.calls {
				t.Errorf("got %q, want %q", got, tc.calls)
			}
			if !g.gone() {
				t.Error("the object is still there")
			}
		})
	}
}

func mutations(g gallery) string {
	var made []string
	for _, call := range g.cloud.Calls() {
		if call == "Create" || call == "Update" || call == "Delete" {
			made = append(made, call)
		}
	}
	g.cloud.Forget()

	return strings.Join(made, " ")
}

// TestEmptyPoliciesPause verifies that an empty list of management policies pauses, and is reported.
func TestEmptyPoliciesPause(t *testing.T) {
	g := newGallery(t)
	g.create(policies())
	g.pass()
	g.condition(commonv1.TypeSynced, "False/ReconcilePaused")
	if len(g.events) != 1 || !strings.Contains(g.events[0].Message, "managementPolicies") {
		t.Errorf("events: %v", g.events)
	}
	g.expect("patch status", "", "Normal/ReconciliationPaused")
	if got := g.get().Status.ObservedGeneration; got != 0 {
		t.Errorf("a paused object was not worked on, but claims generation %d", got)
	}
	g.change(policies("*"))
	g.pass()
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	g.condition(commonv1.TypeReady, "True/Available")
}

// TestPoliciesThatAreNotUnderstood verifies that unknown or unsupported policies allow nothing, not even deletion.
func TestPoliciesThatAreNotUnderstood(t *testing.T) {
	only := managed.WithSupportedManagementPolicies(commonv1.ManagementPolicies{"*"},
		commonv1.ManagementPolicies{"Observe"})
	cases := map[string]struct {
		spec   []commonv1.ManagementAction
		option []managed.ReconcilerOption
		says   string
	}{
		"an unknown action": {[]commonv1.ManagementAction{"Observe", "Destroy"}, nil,
			`unknown action "Destroy"`},
		"nothing without looking": {[]commonv1.ManagementAction{"Create"}, nil, "add Observe"},
		"a set that is not supported": {[]commonv1.ManagementAction{"Observe", "Create"},
			[]managed.ReconcilerOption{only}, "not supported"},
		"a supported one in any order": {[]commonv1.ManagementAction{"Observe", "Observe"},
			[]managed.ReconcilerOption{only}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, tc.option...)
			g.create(policies(tc.spec...))
			g.pass()
			if tc.says == "" {
				g.condition(commonv1.TypeSynced, "False/ExternalResourceMissing")

				return
			}
			c := g.condition(commonv1.TypeSynced, "False/InvalidManagementPolicy")
			if !strings.Contains(c.Message, tc.says) {
				t.Errorf("message %q does not say %q", c.Message, tc.says)
			}
			g.expect("patch status", "", "Warning/InvalidManagementPolicy")
			g.pass()
			g.expect("", "", "")
		})
	}
}

// TestADeletionPolicyThatIsNotUnderstood verifies that an unknown deletion policy is rejected, and keeps the
// resource of a deleted object.
func TestADeletionPolicyThatIsNotUnderstood(t *testing.T) {
	for policy, refused := range map[volume.DeletionPolicy]bool{
		"Retain": true, " Orphan": true, "Orphan ": true, "": false, "orphan": false,
		"DELETE": false,
	} {
		g := newGallery(t)
		g.create(func(s *volume.Snapshot) { s.Spec.DeletionPolicy = policy })
		g.pass()
		if !refused {
			g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")

			continue
		}
		c := g.condition(commonv1.TypeSynced, "False/InvalidManagementPolicy")
		if !strings.Contains(c.Message, fmt.Sprintf("%q", policy)) || !strings.HasSuffix(c.Message, "Delete, Orphan") {
			t.Errorf("%q: it says %q", policy, c.Message)
		}
		g.change(func(s *volume.Snapshot) { s.Spec.DeletionPolicy = "" })
		g.pass()
		g.change(func(s *volume.Snapshot) { s.Spec.DeletionPolicy = policy })
		g.delete()
		g.pass()
		if g.gone() || len(g.cloud.Disks()) != 1 {
			t.Errorf("%q: gone %t, disks %v", policy, g.gone(), g.cloud.Disks())
		}
	}
}

// TestAnInvalidPolicyAnnotationIsReportedFirst verifies that of several invalid policies that of the annotation is
// reported.
func TestAnInvalidPolicyAnnotationIsReportedFirst(t *testing.T) {
	g := newGallery(t)
	g.create(func(s *volume.Snapshot) {
		s.Spec.DeletionPolicy = "Retain"
		s.Annotations = map[string]string{meta.AnnotationKeyManagementPolicy: "sometimes"}
	})
	g.pass()
	if c := g.condition(commonv1.TypeSynced,
		"False/InvalidManagementPolicy"); !strings.Contains(c.Message, meta.AnnotationKeyManagementPolicy) ||
		strings.Contains(c.Message, "Retain") {
		t.Errorf("it says %q", c.Message)
	}
}

// TestPoliciesThatChangeDuringAPass verifies that changed policies count in the next pass, and that a store with
// the old generation conflicts.
func TestPoliciesThatChangeDuringAPass(t *testing.T) {
	g := newGallery(t)
	g.create(policies("*"))
	g.cloud.Before = g.once("Observe", func() { g.change(policies("Observe")) })
	if result := g.pass(); !result.Requeue { //nolint:staticcheck // that is how a conflict ends
		t.Errorf("result: %+v", result)
	}
	if n := g.cloud.Count("Create"); n != 0 {
		t.Errorf("%d creates", n)
	}
	g.pass()
	g.condition(commonv1.TypeSynced, "False/ExternalResourceMissing")
}
