package syncer_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestCreateWithRecreatedOwner verifies that a created host object refers to the current
// service, not to the one at the start, with which it would be garbage collected. Other
// passes do not read the service.
func TestCreateWithRecreatedOwner(t *testing.T) {
	image := translate.PhysicalName("a", home)
	for name, o := range map[string]syncer.Options{"Apply": {}, "Create": syncer.LegacyOptions()} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}, o: o})
			w.reg.Names.Owner = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "red", UID: "first"}}
			asked, fails := 0, errors.New("there is no owner")
			w.reg.RenewOwner = func(context.Context) (types.UID, error) {
				asked++
				return "second", fails
			}
			w.syncer = newMapSyncer(w.reg)
			core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(o, w.events), w.clock)
			w.Must(err)
			w.core = core
			if _, err := w.pass("a"); !errors.Is(err, fails) || w.host(image) != nil {
				t.Errorf("want no host object without an owner, got %v", err)
			}
			fails = nil
			w.mustPass()
			refs := w.host(image).OwnerReferences
			if len(refs) != 1 || refs[0].UID != "second" || refs[0].Name != "red" {
				t.Errorf("got owners %v", refs)
			}
			before := asked
			w.mustPass()
			if asked != before {
				t.Errorf("%d reads of the owner in a pass that creates nothing", asked-before)
			}
		})
	}
}

// TestCreateWithFixedOwner verifies that without RenewOwner the owner is that of the
// context.
func TestCreateWithFixedOwner(t *testing.T) {
	image := translate.PhysicalName("a", home)
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
	w.reg.Names.Owner = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "red", UID: "first"}}
	w.syncer = newMapSyncer(w.reg)
	core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(syncer.Options{}, w.events), w.clock)
	w.Must(err)
	w.core = core
	w.mustPass()
	if refs := w.host(image).OwnerReferences; len(refs) != 1 || refs[0].UID != "first" {
		t.Errorf("got owners %v", refs)
	}
}
