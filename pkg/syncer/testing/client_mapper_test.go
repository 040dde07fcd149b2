package testing_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
)

// TestNewFakeMapper verifies that the kinds of the scheme are mapped with their scopes.
func TestNewFakeMapper(t *testing.T) {
	mapper := syncertesting.NewFakeMapper(syncertesting.NewScheme())
	for kind, scope := range map[string]meta.RESTScopeName{
		"ConfigMap": meta.RESTScopeNameNamespace, "Node": meta.RESTScopeNameRoot,
	} {
		mapping, err := mapper.RESTMapping(corev1.SchemeGroupVersion.WithKind(kind).GroupKind(), "v1")
		if err != nil || mapping.Scope.Name() != scope {
			t.Errorf("%s: got %v, %v", kind, mapping, err)
		}
	}
	if _, err := mapper.RESTMapping(corev1.SchemeGroupVersion.WithKind("Widget").GroupKind()); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not in the scheme: got error %v", err)
	}
}
