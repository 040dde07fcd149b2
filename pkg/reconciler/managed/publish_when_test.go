package managed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A detailing client observes details of its own.
type detailing struct {
	managed.ExternalClient

	details managed.ConnectionDetails
}

func (d detailing) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := d.ExternalClient.Observe(ctx, mg)
	o.ConnectionDetails = d.details

	return o, err
}

// TestAPublisherIsAskedIfThereIsAnythingToPublish verifies that a publisher is called for one detail, and not for
// none.
func TestAPublisherIsAskedIfThereIsAnythingToPublish(t *testing.T) {
	for name, tc := range map[string]struct {
		details managed.ConnectionDetails
		want    int
	}{
		"none":  {nil, 0},
		"empty": {managed.ConnectionDetails{}, 0},
		"one":   {managed.ConnectionDetails{"token": []byte("t")}, 1},
		"two":   {managed.ConnectionDetails{"token": []byte("t"), "user": nil}, 1},
	} {
		asked := 0
		g := newGallery(t, managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
			func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) {
				asked++

				return true, nil
			})))
		g.wrap(func(c managed.ExternalClient) managed.ExternalClient { return detailing{c, tc.details} })
		g.create(nil)
		g.pass()
		g.pass()
		if asked != tc.want {
			t.Errorf("%s: asked %d times, want %d", name, asked, tc.want)
		}
	}
}

// TestARequestPublishesOnce verifies that a request with a difference publishes once.
func TestARequestPublishesOnce(t *testing.T) {
	asked := 0
	g := newGallery(t, managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
		func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) {
			asked++

			return true, nil
		})))
	g.create(nil)
	g.pass()
	g.change(func(s *volume.Snapshot) {
		s.Spec.SizeGiB = 2
		meta.AddAnnotations(s, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "now"})
	})
	g.taken()
	g.pass()
	if _, calls, _ := g.taken(); calls != "Connect Observe Update Observe" || asked != 2 {
		t.Errorf("calls %q, asked %d times, want twice", calls, asked)
	}
}

// TestTheHashOfWhatWasPublishedIsPutBack verifies that a lost hash in the status is restored without publishing.
func TestTheHashOfWhatWasPublishedIsPutBack(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		g := newGallery(t)
		g.create(secretNamed("login"))
		g.pass()
		if restarted {
			g.restart()
			g.pass()
		}
		s := g.get()
		hash := s.Status.ConnectionDetailsHash
		s.Status.ConnectionDetailsHash = ""
		g.Must(g.API.Status().Update(t.Context(), s))
		g.taken()
		g.pass()
		g.expect("patch status", look, "")
		if got := g.get().Status.ConnectionDetailsHash; got != hash || hash == "" {
			t.Errorf("restarted %t: the hash is %q, and was %q", restarted, got, hash)
		}
	}
}

// TestTheSecretIsTheOneThatWasLookedAt verifies that a Secret is patched only with the UID that was read, and that
// a key with an empty value counts.
func TestTheSecretIsTheOneThatWasLookedAt(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	s := g.secret("login")
	g.Change(s, func() { s.UID = "uid-of-the-secret" })
	patches := 0
	g.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "patch secret") {
			patches++
			if !strings.Contains(note, `"uid":"uid-of-the-secret"`) {
				t.Errorf("another Secret of the name would be changed by %s", note)
			}
		}

		return nil
	}
	details := managed.ConnectionDetails{"id": []byte("vol-1"), "password": []byte("password-of-vol-1"), "note": {}}
	g.wrap(func(c managed.ExternalClient) managed.ExternalClient { return detailing{c, details} })
	for range 2 {
		g.pass()
	}
	if data := g.secret("login").Data; patches != 1 || len(data) != 3 {
		t.Errorf("%d patches, and the Secret has %q", patches, data)
	}
}

// rotate gives the disk of the object another password.
func (g gallery) rotate(password string) {
	d := g.cloud.Disks()[0]
	d.Password = password
	g.cloud.Put(d)
}

// TestPublicationsAreCounted verifies that each publication is timed and counted as changed, unchanged or failed.
func TestPublicationsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	g := newGallery(t, managed.WithMetricsRegisterer(registry))
	g.create(secretNamed("login"))
	for _, step := range []struct {
		what              string
		do                func()
		changed, not, all float64
	}{
		{"the first", func() {}, 1, 0, 1},
		{"nothing is to be done", func() { g.annotate(meta.AnnotationKeyReconcileRequestedAt, "1") }, 1, 1, 2},
		{"it was removed", func() {
			g.Delete(g.secret("login"))
			g.annotate(meta.AnnotationKeyReconcileRequestedAt, "2")
		}, 2, 1, 3},
		{"the password is another", func() { g.rotate("rotated") }, 3, 1, 4},
		{"it is somebody else's", func() {
			s := g.secret("login")
			g.Change(s, func() { s.OwnerReferences = nil })
			g.rotate("again")
		}, 3, 1, 5},
	} {
		step.do()
		_, _ = g.try()
		const wrote = "moorage_managed_writes_total changed="
		got := []float64{
			metric(t, registry, wrote+"true what=secret"), metric(t, registry, wrote+"false what=secret"),
			metric(t, registry, "moorage_managed_external_step_seconds step=publish"),
		}
		if want := []float64{step.changed, step.not, step.all}; !cmp.Equal(got, want) {
			t.Errorf("%s: changed, unchanged and all are %v, want %v", step.what, got, want)
		}
	}
}

// TestASecretIsLookedForIfItMayBeThere verifies that unpublished details are created without a read, and published
// ones are read first, also by a new process.
func TestASecretIsLookedForIfItMayBeThere(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.failLive = 1
	g.pass()
	if g.failLive != 1 {
		t.Error("something is read for the first publication")
	}
	g.restart()
	g.rotate("rotated")
	g.taken()
	if _, err := g.try(); err == nil || g.failLive != 0 {
		t.Errorf("a Secret that may be there is not read: %v", err)
	}
	g.expect("patch status", look, "Warning/CannotPublishConnectionDetails")
	g.condition(commonv1.TypeSynced, "False/ReconcileError") // whose it is, is not known
	g.pass()
	g.expect("patch secret, patch status", look, "")
}

// TestASecretThatGoesMeanwhile verifies that a Secret that is deleted while it is created is created by a later
// pass.
func TestASecretThatGoesMeanwhile(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "create secret") {
			return kerrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, "login")
		}

		return nil
	}
	if _, err := g.try(); err == nil || !strings.Contains(err.Error(), "cannot get connection secret") {
		t.Errorf("error %v", err)
	}
	g.expect("patch, patch, create secret, patch status", "Connect Observe Create Observe",
		"Normal/CreatedExternalResource, Warning/CannotPublishConnectionDetails")
	g.answer = nil
	g.pass()
	g.expect("create secret, patch status", look, "")
}

// TestTheSecretThatIsLeftIsNamed verifies that the old Secret is reported by its name.
func TestTheSecretThatIsLeftIsNamed(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	g.change(secretNamed("other"))
	g.taken()
	g.pass()
	if len(g.events) != 1 || !strings.HasPrefix(g.events[0].Message, "Secret login still holds") {
		t.Errorf("events %v", g.events)
	}
}

// TestWhatNoStatusTellsIsPublishedAnew verifies that without a hash in the status each process publishes once, and
// nothing without a Secret.
func TestWhatNoStatusTellsIsPublishedAnew(t *testing.T) {
	asked := 0
	publisher := managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
		func(context.Context, resource.Managed, managed.ConnectionDetails) (bool, error) {
			asked++

			return true, nil
		}))
	w := newWorld(t, publisher)
	tells := func(c managed.ExternalClient) managed.ExternalClient {
		return detailing{c, managed.ConnectionDetails{"token": []byte("t")}}
	}
	w.wrap(tells)
	w.create(nil)
	for range 2 {
		w.pass()
		w.pass()
		w.restart()
	}
	if asked != 2 {
		t.Errorf("asked %d times by two processes", asked)
	}
	w = newWorld(t)
	w.wrap(tells)
	w.create(nil)
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
}

// TestAnImmutableSecretStaysAsItIs verifies that an immutable Secret is not changed, which is reported.
func TestAnImmutableSecretStaysAsItIs(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	s := g.secret("login")
	g.Change(s, func() { s.Immutable = new(true) })
	g.rotate("rotated")
	g.taken()
	_, _ = g.try()
	if requests, _, _ := g.taken(); strings.Contains(requests, "secret") ||
		string(g.secret("login").Data["password"]) != "password-of-vol-1" {
		t.Errorf("requests %q, the Secret has %q", requests, g.secret("login").Data)
	}
	if c := g.condition(commonv1.TypeSynced, "False/ReconcileError"); !strings.Contains(c.Message,
		"secret login is immutable") {
		t.Errorf("the condition says %q", c.Message)
	}
}
