package trials

import (
	"context"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A failure is an author's type of error.
type failure struct{ code int }

// Error returns the code. It panics for a nil pointer.
func (f *failure) Error() string { return strconv.Itoa(f.code) }

// nilFailure returns a declared error variable that was never set: the error is not nil, and
// its method Error panics.
func nilFailure() error {
	var f *failure

	return f
}

// saysPanic checks that an object reports a panic of its client within some passes.
func (w *world) saysPanic(what string) {
	w.Helper()
	for range 4 {
		_, _ = w.pass() // an error requeues the object
		wait(time.Minute)
	}
	if c := w.get().GetCondition(commonv1.TypeSynced); c.Status != metav1.ConditionFalse ||
		c.Reason != commonv1.ReasonClientPanicked || w.warnings() == 0 {
		w.Errorf("%s: want Synced False (ClientPanicked) and a warning, got %s (%s): %s; events: %v", what, c.Status,
			c.Reason, c.Message, w.events)
	}
}

// TestOutsideNilErrors is about a call that returns a nil pointer of the author's own error
// type, whose method Error panics. The object reports a panic of the client.
func TestOutsideNilErrors(t *testing.T) {
	each(t, classes, func(w *world) {
		for _, in := range []string{"Connect", "Observe", "Update"} {
			story := w.again()
			story.ready()
			story.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == in {
					return nilFailure()
				}

				return nil
			}
			story.resize(2)
			story.saysPanic(in)
		}
	})
}

type panicsIdentity struct{ wrapped }

// Identity panics.
func (panicsIdentity) Identity() string { panic("no account") }

type panicsDescribe struct{ wrapped }

// DescribeConnection panics.
func (panicsDescribe) DescribeConnection() managed.Connection { panic("no settings") }

type panicsUnwrap struct{ wrapped }

// Unwrap panics.
func (panicsUnwrap) Unwrap() any { panic("no inner client") }

// TestOutsideOtherMethodsPanic is about a panic in another method of the client than the four,
// or a connecter that returns a nil pointer. The object reports a panic of the client.
func TestOutsideOtherMethodsPanic(t *testing.T) {
	for name, connect := range map[string]func(managed.ExternalClient) managed.ExternalClient{
		"Identity": func(c managed.ExternalClient) managed.ExternalClient {
			return panicsIdentity{wrapped{ExternalClient: c}}
		},
		"DescribeConnection": func(c managed.ExternalClient) managed.ExternalClient {
			return panicsDescribe{wrapped{ExternalClient: c}}
		},
		"Unwrap": func(c managed.ExternalClient) managed.ExternalClient { return panicsUnwrap{wrapped{ExternalClient: c}} },
		"a nil pointer": func(managed.ExternalClient) managed.ExternalClient {
			var c *wrapped

			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, opaque, func(w *world) {
				w.over(connect)
				w.create()
				w.saysPanic(name)
			})
		})
	}
}

// TestOutsideClientEmptiesItsObject is about an Observe that decodes the answer of the system
// into its object, so that name and namespace are lost. They are restored, and the object
// becomes ready.
func TestOutsideClientEmptiesItsObject(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.over(func(inner managed.ExternalClient) managed.ExternalClient {
			return wrapped{ExternalClient: inner, call: func(name string, mg *volume.Volume, call func() error) error {
				err := call()
				if name == "Observe" {
					id := meta.GetExternalName(mg)
					*mg = volume.Volume{Spec: mg.Spec, Status: mg.Status}
					meta.SetExternalName(mg, id)
				}

				return err
			}}
		})
		w.create()
		w.run(20 * time.Minute)
		v := w.get()
		if c := v.GetCondition(commonv1.TypeSynced); !ready(v) && c.Status != metav1.ConditionFalse {
			w.Errorf("the object says %+v; events: %v", v.Status.Conditions, w.events)
		}
	})
}
