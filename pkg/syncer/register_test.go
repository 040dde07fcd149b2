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

// named is a typed syncer.
type named struct {
	bare

	name string
}

func (n named) Name() string { return n.name }

// twofold makes virtual objects as well.
type twofold struct{ named }

func (twofold) Resource() client.Object { return &corev1.ConfigMap{} }

func (twofold) FakeSyncUp(*synccontext.SyncContext, types.NamespacedName) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (twofold) FakeSync(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// wrapping hides what an item is, but for its name.
type wrapping struct {
	syncer.Base

	item any
}

func (w wrapping) Unwrap() any { return w.item }

// controllers is a manager that counts them, of a cluster that serves what its mapper
// says.
type controllers struct {
	manager.Manager

	mapper meta.RESTMapper
	added  int
}

func (c *controllers) GetRESTMapper() meta.RESTMapper { return c.mapper }

func (c *controllers) Add(manager.Runnable) error {
	c.added++
	return nil
}

// TestRegisterWrapped: a Runner finds what an item is through what is wrapped around
// it.
func TestRegisterWrapped(t *testing.T) {
	cases := map[string]struct {
		reason string
		item   func(name string) syncer.Base
		want   int
		kind   string // as what it is refused if its kind is not served
	}{
		"Typed": {
			reason: "A typed syncer is a syncer.", want: 1, kind: "cannot register syncer",
			item: func(name string) syncer.Base { return syncer.FromTyped(&corev1.ConfigMap{}, named{name: name}) },
		},
		"TypedFake": {
			reason: "A fake syncer in a typed one is found, and gets a controller of its own.", want: 2, kind: "cannot register fake syncer",
			item: func(name string) syncer.Base {
				return syncer.FromTyped(&corev1.ConfigMap{}, twofold{named{name: name}})
			},
		},
		"WrappedFake": {
			reason: "So is one in a wrapper.", want: 1, kind: "cannot register fake syncer",
			item: func(name string) syncer.Base { return wrapping{named{name: name}, twofold{named{name: name}}} },
		},
		"WrappedSyncer": {
			reason: "So is a syncer.", want: 1, kind: "cannot register syncer",
			item: func(name string) syncer.Base {
				n := named{name: name}
				return wrapping{n, syncer.FromTyped(&corev1.ConfigMap{}, n)}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{})
			item := tc.item("item-" + string(uuid.NewUUID())) // the process knows all names of controllers
			serves := meta.NewDefaultRESTMapper(nil)
			serves.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
			there := &controllers{Manager: w.reg.VirtualManager, mapper: serves}
			w.reg.VirtualManager = there
			w.reg.PhysicalManager = &controllers{Manager: w.reg.PhysicalManager, mapper: serves}
			if err := syncer.Add(w.reg, item); err != nil || there.added != tc.want {
				t.Errorf("%s\ngot %d controllers, want %d: %v", tc.reason, there.added, tc.want, err)
			}
			there.mapper = meta.NewDefaultRESTMapper(nil)
			if err := syncer.Known(w.reg, item); !errors.Is(err, translate.ErrKindNotServed) || !strings.HasPrefix(err.Error(), tc.kind) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.kind)
			}
		})
	}
}
