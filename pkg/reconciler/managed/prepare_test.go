package managed_test

import (
	"context"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// tag is what providers initialise most.
func tag(_ context.Context, mg resource.Managed) error {
	meta.AddLabels(mg, map[string]string{"team": "storage"})
	if s, ok := mg.(*volume.Snapshot); ok && s.Spec.Tier == "" {
		s.Spec.Tier = "standard"
	}

	return nil
}

// TestInitializersAreStoredWithTheIntent verifies that changes of an initializer are stored with the intent to
// create, without an additional request.
func TestInitializersAreStoredWithTheIntent(t *testing.T) {
	g := newGallery(t, managed.WithInitializers(managed.InitializerFn(tag)))
	g.create(nil)
	g.pass()
	g.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if s := g.get(); s.Labels["team"] != "storage" || s.Spec.Tier != "standard" {
		t.Errorf("labels %v, tier %q", s.Labels, s.Spec.Tier)
	}
	g.pass()
	g.expect("", "Connect Observe", "")

	g.change(func(s *volume.Snapshot) { s.Labels = nil })
	g.pass()
	g.expect("patch", "Connect Observe", "")
}

// TestInitializersThatWrite verifies that an initializer may write the object itself.
func TestInitializersThatWrite(t *testing.T) {
	var g gallery
	g = newGallery(t, managed.WithInitializers(managed.InitializerFn(func(ctx context.Context,
		mg resource.Managed) error {
		s, ok := mg.(*volume.Snapshot)
		if !ok || meta.GetExternalName(mg) != "" {
			return nil
		}
		meta.SetExternalName(s, "mine")

		return g.API.Update(ctx, s)
	})))
	g.create(nil)
	g.pass()
	g.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	g.condition(commonv1.TypeReady, "True/Available")
}

// TestInitializersThatFail verifies that a failing initializer is reported, stops the pass and the later
// initializers; a conflict is not reported.
func TestInitializersThatFail(t *testing.T) {
	var fail error
	g := newGallery(t, managed.WithInitializers(
		managed.InitializerFn(func(context.Context, resource.Managed) error { return fail }),
		managed.InitializerFn(func(context.Context, resource.Managed) error {
			if fail != nil {
				t.Error("asked after a failure")
			}

			return nil
		}), managed.NameAsExternalName{}))
	g.create(nil)
	fail = errors.New("no quota")
	if _, err := g.try(); err == nil {
		t.Error("no error")
	}
	g.expect("patch status", "", "Warning/CannotInitializeManagedResource")
	if c := g.condition(commonv1.TypeSynced,
		"False/ReconcileError"); c.Message != "cannot initialize managed resource: no quota" {
		t.Errorf("message %q", c.Message)
	}
	fail = kerrors.NewConflict(schema.GroupResource{}, "data", errors.New("changed"))
	if result := g.pass(); !result.Requeue { //nolint:staticcheck // that is how a conflict ends
		t.Errorf("result %+v", result)
	}
	g.expect("", "", "")
	fail = nil
	g.pass()
	if got := meta.GetExternalName(g.get()); got != "vol-1" {
		t.Errorf("external name %q", got)
	}

	fail = errors.New("no quota")
	g.delete()
	g.pass()
	if !g.gone() {
		t.Error("an initializer stood in the way of a deletion")
	}
}

// TestReferenceResolver verifies that references are resolved while the object is not deleted, and stored like
// changes of initializers.
func TestReferenceResolver(t *testing.T) {
	var fail error
	asked := 0
	g := newGallery(t, managed.WithReferenceResolver(managed.ReferenceResolverFn(func(_ context.Context,
		mg resource.Managed) error {
		asked++
		if s, ok := mg.(*volume.Snapshot); ok && fail == nil {
			s.Spec.Volume = "vol-9"
		}

		return fail
	})))
	g.create(func(s *volume.Snapshot) { s.Spec.Volume = "" })
	fail = errors.New("not today")
	if _, err := g.try(); err == nil {
		t.Error("no error")
	}
	g.expect("patch status", "", "Warning/CannotResolveResourceReferences")
	g.condition(commonv1.TypeSynced, "False/ReconcileError")

	fail = nil
	g.pass()
	g.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if got := g.cloud.Disks()[0].Source; got != "vol-9" {
		t.Errorf("source %q", got)
	}

	g.delete()
	asked, fail = 0, errors.New("not today")
	g.pass()
	if asked != 0 || !g.gone() {
		t.Error("references stood in the way of a deletion")
	}
}

// TestTypedConnector verifies that a typed client is called with its own type, and disconnected.
func TestTypedConnector(t *testing.T) {
	connector := &typedCloud{cloud: &volume.Cloud{}}
	w := newWorld(t)
	w.o = append(w.o, managed.WithTypedExternalConnector(connector))
	w.restart()
	w.create(nil)
	w.pass()
	if connector.created != "data" || connector.disconnected != 2 {
		t.Errorf("created %q, disconnected %d times", connector.created, connector.disconnected)
	}

	_, err := managed.Untyped(connector).Connect(t.Context(),
		&volume.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	if err == nil || err.Error() != "unexpected object type *volume.Snapshot" {
		t.Errorf("error %v", err)
	}
	untyped := managed.Untyped(managed.TypedExternalConnectorFn[*volume.Volume](connector.Connect))
	if _, ok := untyped.(managed.ExternalDisconnecter); ok {
		t.Error("a connector without Disconnect has one")
	}
}

// A typedCloud counts what is disconnected: the client and the connector.
type typedCloud struct {
	cloud        *volume.Cloud
	created      string
	disconnected int
}

func (c *typedCloud) Connect(ctx context.Context,
	v *volume.Volume) (managed.TypedExternalClient[*volume.Volume], error) {
	inner, err := c.cloud.Connect(ctx, v)
	if err != nil {
		return nil, err
	}

	return &typedClient{
		TypedExternalClientFns: managed.TypedExternalClientFns[*volume.Volume]{
			ObserveFn: func(ctx context.Context, v *volume.Volume) (managed.ExternalObservation, error) {
				return inner.Observe(ctx, v)
			},
			CreateFn: func(ctx context.Context, v *volume.Volume) error {
				c.created = v.Name

				return inner.Create(ctx, v)
			},
		}, cloud: c,
	}, nil
}

func (c *typedCloud) Disconnect(context.Context) error {
	c.disconnected++

	return nil
}

type typedClient struct {
	managed.TypedExternalClientFns[*volume.Volume]

	cloud *typedCloud
}

func (c *typedClient) Disconnect(ctx context.Context) error { return c.cloud.Disconnect(ctx) }

// TestANameOfOurChoiceOutlastsAnInitializer verifies that a deterministic name is in every call, also if an
// initializer removes it.
func TestANameOfOurChoiceOutlastsAnInitializer(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true),
		managed.WithInitializers(managed.InitializerFn(func(_ context.Context, mg resource.Managed) error {
			meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)

			return nil
		})))
	w.cloud.Named = true
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if name := meta.GetExternalName(mg); call != "Connect" && name != "data" {
			t.Errorf("%s is called for %q", call, name)
		}

		return nil
	}
	w.create(nil)
	w.pass()
	w.pass()
	if disks := w.cloud.Disks(); len(disks) != 1 || disks[0].ID != "data" || meta.GetExternalName(w.get()) != "data" {
		t.Errorf("disks %v, external name %q", disks, meta.GetExternalName(w.get()))
	}
}

// TestWhatIsObservedCountsBeforeWhatIsInitialized verifies that the observed value of a field precedes that of an
// initializer.
func TestWhatIsObservedCountsBeforeWhatIsInitialized(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	d := g.cloud.Disks()[0]
	d.Tier = "gold"
	g.cloud.Put(d)
	g.o = append(g.o, managed.WithInitializers(managed.InitializerFn(tag)))
	g.wrap(func(c managed.ExternalClient) managed.ExternalClient { return overwriting{c, "gold"} })
	g.taken()
	g.pass()
	g.expect("patch", look, "")
	if s := g.get(); s.Spec.Tier != "gold" || s.Labels["team"] != "storage" {
		t.Errorf("tier %q, labels %v", s.Spec.Tier, s.Labels)
	}
}

// An overwriting client fills in the tier, whatever it is.
type overwriting struct {
	managed.ExternalClient

	tier string
}

func (o overwriting) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if s, ok := mg.(*volume.Snapshot); ok {
		s.Spec.Tier = o.tier
	}
	seen, err := o.ExternalClient.Observe(ctx, mg)
	seen.ResourceLateInitialized = true

	return seen, err
}
