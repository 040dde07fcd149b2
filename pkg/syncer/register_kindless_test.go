package syncer_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A kindlessSyncer has objects without a kind.
type kindlessSyncer struct{ fakeConfigMaps }

func (kindlessSyncer) Resource() client.Object { return &unstructured.Unstructured{} }

// TestCheckServedWithoutKind verifies that an item without a kind is an error of its own,
// not ErrKindNotServed.
func TestCheckServedWithoutKind(t *testing.T) {
	w := newWorld(t, worldOptions{})
	w.useFakeManagers()
	err := syncer.CheckServed(w.reg, kindlessSyncer{})
	if err == nil || errors.Is(err, translate.ErrKindNotServed) ||
		!strings.HasPrefix(err.Error(), `cannot register fake syncer "faker": cannot determine the kind of its objects: `) {
		t.Errorf("got error %v", err)
	}
}
