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

// A fixedNameSyncer is a syncer that maps every image to the same virtual name, whatever
// its annotations.
type fixedNameSyncer struct{ *mapSyncer }

func (fixedNameSyncer) PhysicalToVirtual(client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: home, Name: "b"}
}

// TestConflictNamesOwner verifies that the event for an image of another object in
// another virtual cluster names the other object, which the user can look up.
func TestConflictNamesOwner(t *testing.T) {
	image := imageOf("a", annotated(translator.ClusterAnnotation, "other"), annotated(translator.UIDAnnotation, "former"))
	for want, make := range map[string]func(m *mapSyncer) syncer.Syncer{
		"belongs to virtual object ns/b":                      func(m *mapSyncer) syncer.Syncer { return fixedNameSyncer{m} },
		"belongs to another virtual cluster of the same name": func(m *mapSyncer) syncer.Syncer { return m },
	} {
		w := newWorld(t, worldOptions{cluster: "first", v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{image}})
		w.newCore(make(w.syncer), syncer.Options{})
		if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) ||
			!strings.Contains(strings.Join(w.events.all(), "\n"), want) {
			t.Errorf("got error %v, events %q, want %q", err, w.events.all(), want)
		}
	}
}
