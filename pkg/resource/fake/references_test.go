package fake

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestReferencers(t *testing.T) {
	m, e := &ManagedResourceReferencer{}, &EnvironmentConfigReferencer{}
	if m.GetResourceReference() != nil || len(e.GetEnvironmentConfigReferences()) != 0 {
		t.Error("There is a reference that nobody set")
	}

	ref := corev1.ObjectReference{Name: "data"}
	m.SetResourceReference(&ref)
	e.SetEnvironmentConfigReferences([]corev1.ObjectReference{ref})

	if diff := cmp.Diff(&ref, m.GetResourceReference()); diff != "" {
		t.Errorf("managed resource: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.ObjectReference{ref}, e.GetEnvironmentConfigReferences()); diff != "" {
		t.Errorf("environment configurations: -want, +got:\n%s", diff)
	}
}
