package syncer_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// telltale is a syncer that knows of every image whose it is, whatever its marks say.
type telltale struct{ *mapSyncer }

func (telltale) PhysicalToVirtual(client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: home, Name: "b"}
}

// TestUserIsToldWhoseImageItIs: of an image that belongs to another object and to another virtual cluster as well, the user is told the object, which can be
// looked up.
func TestUserIsToldWhoseImageItIs(t *testing.T) {
	image := imageOf("a", annotated(translator.ClusterAnnotation, "other"), annotated(translator.UIDAnnotation, "former"))
	for want, make := range map[string]func(m *mapSyncer) syncer.Syncer{
		"belongs to virtual object ns/b":                      func(m *mapSyncer) syncer.Syncer { return telltale{m} },
		"belongs to another virtual cluster of the same name": func(m *mapSyncer) syncer.Syncer { return m },
	} {
		w := newWorld(t, setting{cluster: "first", v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{image}})
		w.remake(make(w.syncer), syncer.Options{})
		if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) || !strings.Contains(strings.Join(w.events.all(), "\n"), want) {
			t.Errorf("got error %v, events %q, want %q", err, w.events.all(), want)
		}
	}
}
