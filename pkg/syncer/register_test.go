package syncer_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A namedSyncer is a typed syncer with a configurable name.
type namedSyncer struct {
	minimalSyncer

	name string
}

func (n namedSyncer) Name() string { return n.name }

// A fakeAndTypedSyncer is a FakeSyncer as well.
type fakeAndTypedSyncer struct{ namedSyncer }

func (fakeAndTypedSyncer) Resource() client.Object { return &corev1.ConfigMap{} }

func (fakeAndTypedSyncer) FakeSyncUp(*synccontext.SyncContext, types.NamespacedName) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (fakeAndTypedSyncer) FakeSync(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// A wrapper hides the interfaces of an item except for Base.
type wrapper struct {
	syncer.Base

	item any
}

func (w wrapper) Unwrap() any { return w.item }

// A countingManager counts the added controllers.
type countingManager struct {
	manager.Manager

	mapper meta.RESTMapper
	added  int
}

func (c *countingManager) GetRESTMapper() meta.RESTMapper { return c.mapper }

func (c *countingManager) Add(manager.Runnable) error {
	c.added++
	return nil
}

// TestAddItemWrapped verifies that the interfaces of an item are found through wrappers.
func TestAddItemWrapped(t *testing.T) {
	cases := map[string]struct {
		reason string
		item   func(name string) syncer.Base
		want   int
		kind   string // as what it is refused if its kind is not served
	}{
		"Typed": {
			reason: "A typed syncer is a Syncer.", want: 1, kind: "cannot register syncer",
			item: func(name string) syncer.Base { return syncer.FromTyped(&corev1.ConfigMap{}, namedSyncer{name: name}) },
		},
		"TypedFake": {
			reason: "A FakeSyncer in a typed syncer is found and gets its own controller.",
			want:   2, kind: "cannot register fake syncer",
			item: func(name string) syncer.Base {
				return syncer.FromTyped(&corev1.ConfigMap{}, fakeAndTypedSyncer{namedSyncer{name: name}})
			},
		},
		"WrappedFake": {
			reason: "A FakeSyncer in a wrapper is found.", want: 1, kind: "cannot register fake syncer",
			item: func(name string) syncer.Base {
				return wrapper{namedSyncer{name: name}, fakeAndTypedSyncer{namedSyncer{name: name}}}
			},
		},
		"WrappedSyncer": {
			reason: "A Syncer in a wrapper is found.", want: 1, kind: "cannot register syncer",
			item: func(name string) syncer.Base {
				n := namedSyncer{name: name}
				return wrapper{n, syncer.FromTyped(&corev1.ConfigMap{}, n)}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{})
			item := tc.item("item-" + string(uuid.NewUUID())) // the process knows all names of controllers
			serves := meta.NewDefaultRESTMapper(nil)
			serves.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
			there := &countingManager{Manager: w.reg.VirtualManager, mapper: serves}
			w.reg.VirtualManager = there
			w.reg.PhysicalManager = &countingManager{Manager: w.reg.PhysicalManager, mapper: serves}
			if err := syncer.AddItem(w.reg, item); err != nil || there.added != tc.want {
				t.Errorf("%s\ngot %d controllers, want %d: %v", tc.reason, there.added, tc.want, err)
			}
			there.mapper = meta.NewDefaultRESTMapper(nil)
			if err := syncer.CheckServed(w.reg, item); !errors.Is(err, translate.ErrKindNotServed) ||
				!strings.HasPrefix(err.Error(), tc.kind) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.kind)
			}
		})
	}
}
