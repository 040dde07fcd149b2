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

// kindless is an item whose objects do not say of which kind they are.
type kindless struct{ faker }

func (kindless) Resource() client.Object { return &unstructured.Unstructured{} }

// TestKindThatCannotBeTold: an item that names no kind is refused for that. It is not said that a cluster does not serve it.
func TestKindThatCannotBeTold(t *testing.T) {
	w := newWorld(t, setting{})
	w.processes()
	err := syncer.Known(w.reg, kindless{})
	if err == nil || errors.Is(err, translate.ErrKindNotServed) || !strings.HasPrefix(err.Error(), `cannot register fake syncer "faker": cannot tell the kind of its objects: `) {
		t.Errorf("got error %v", err)
	}
}
