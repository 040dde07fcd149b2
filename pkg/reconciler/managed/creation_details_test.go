package managed_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const accessKey = "correct horse battery staple"

// keyGallery returns a gallery whose Create tells an access key, which no observation tells again.
func keyGallery(t *testing.T, o ...managed.ReconcilerOption) gallery {
	t.Helper()
	g := newGallery(t, append([]managed.ReconcilerOption{managed.WithCreationConnectionDetails()}, o...)...)
	g.cloud.After = func(ctx context.Context, call string, _ resource.Managed) error {
		managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": []byte(accessKey)})

		return nil
	}

	return g
}

func (g gallery) key() string {
	g.Helper()
	if s := g.secret("login"); s != nil {
		return string(s.Data["key"])
	}

	return ""
}

// What only Create knows is published before the look, whatever that shows, and stays when the look tells other details.
func TestWhatOnlyCreateKnowsIsPublished(t *testing.T) {
	for name, tc := range map[string]struct {
		look   func(g gallery)
		failed bool
	}{
		"the look shows it": {func(gallery) {}, false},
		"the look does not show it yet": {func(g gallery) {
			g.cloud.Hidden = func(string) bool { return true }
		}, false},
		"the look fails": {func(g gallery) {
			g.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Observe" && len(g.cloud.Disks()) > 0 {
					return errLost
				}

				return nil
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := keyGallery(t)
			tc.look(g)
			g.create(secretNamed("login"))
			if _, err := g.try(); (err != nil) != tc.failed {
				t.Errorf("error %v", err)
			}
			if got := g.key(); got != accessKey {
				t.Errorf("the Secret has %q", got)
			}
			if got, has := g.get().Annotations[meta.AnnotationKeyCreationDetails]; has {
				t.Errorf("they are published, and the object says %q", got)
			}
		})
	}
}

// They are published although Create fails, because it may have had its effect.
func TestDetailsOfACreateThatFails(t *testing.T) {
	g := keyGallery(t)
	tell := g.cloud.After
	g.cloud.After = func(ctx context.Context, call string, mg resource.Managed) error {
		if err := tell(ctx, call, mg); err != nil || call != "Create" {
			return err
		}

		return context.DeadlineExceeded
	}
	g.create(secretNamed("login"))
	if _, err := g.try(); err == nil {
		t.Error("Create did not fail")
	}
	if got := g.key(); got != accessKey {
		t.Errorf("the Secret has %q", got)
	}
	if strings.Contains(g.get().GetCondition(commonv1.TypeSynced).Message, accessKey) {
		t.Error("the condition tells the key")
	}
}

// Create is not called while the Secret could not be written.
func TestNoCreateWithoutASecretForItsDetails(t *testing.T) {
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "login"}, Data: map[string][]byte{"key": []byte("theirs")}}
	for name, spoil := range map[string]func(g gallery){
		"it is somebody else's": func(g gallery) { g.Create(foreign.DeepCopy()) },
		"it may not be written": func(g gallery) {
			g.answer = func(_ context.Context, note string) error {
				if strings.HasPrefix(note, "create secret") {
					return errLost
				}

				return nil
			}
		},
	} {
		g := keyGallery(t)
		spoil(g)
		g.create(secretNamed("login"))
		_, _ = g.try()
		if n := g.cloud.Count("Create"); n != 0 {
			t.Errorf("%s: %d calls of Create", name, n)
		}
		if got := g.get().GetCondition(commonv1.TypeSynced); got.Status != "False" {
			t.Errorf("%s: it says %v", name, got)
		}
		if a := g.get().Annotations; a[meta.AnnotationKeyExternalCreatePending] != "" || a[meta.AnnotationKeyCreationDetails] != "" {
			t.Errorf("%s: an attempt is recorded that was not begun: %v", name, a)
		}
	}
	// A Secret of the object, and no Secret at all, are no hindrance.
	g := keyGallery(t)
	g.create(nil)
	g.pass()
	if n := g.cloud.Count("Create"); n != 1 {
		t.Errorf("without a Secret: %d calls of Create", n)
	}
	g.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
}

// While the Secret cannot be written they are kept, and written before anything is asked.
func TestDetailsWaitForTheirSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		refused := true
		g.answer = func(_ context.Context, note string) error {
			if refused && strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
				return errLost
			}

			return nil
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		if g.key() != "" || g.get().Annotations[meta.AnnotationKeyExternalName] == "" || g.get().Annotations[meta.AnnotationKeyCreationDetails] != "pending" {
			t.Errorf("key %q and annotations %v", g.key(), g.get().Annotations)
		}
		_, _ = g.try()
		refused = false
		g.pass()
		if got := g.key(); got != accessKey || g.get().Annotations[meta.AnnotationKeyCreationDetails] != "" {
			t.Errorf("key %q and annotations %v", got, g.get().Annotations)
		}
		if n := g.cloud.Count("Create"); n != 1 {
			t.Errorf("%d calls of Create", n)
		}
	})
}

// A write of the Secret that is never answered does not keep the external name from being stored.
func TestTheNameDoesNotWaitForTheSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		g.answer = func(ctx context.Context, note string) error {
			if strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
				<-ctx.Done()

				return ctx.Err()
			}

			return nil
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		if a := g.get().Annotations; a[meta.AnnotationKeyExternalName] == "" || a[meta.AnnotationKeyCreationDetails] != "pending" {
			t.Errorf("annotations %v", a)
		}
	})
}

// A process that ends between Create and the write is told of, once, and by the object until a user has seen to it.
func TestDetailsThatAProcessTookWithIt(t *testing.T) {
	for name, named := range map[string]bool{"assigned names": false, "names of our choice": true} {
		g := keyGallery(t, managed.WithDeterministicExternalName(named))
		g.cloud.Named = named
		g.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
		g.create(func(s *volume.Snapshot) { // as that process has left it
			secretNamed("login")(s)
			s.Finalizers = []string{managed.FinalizerName}
			at := g.clock.Now().UTC().Format(time.RFC3339)
			s.Annotations = map[string]string{meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyCreationDetails: "pending"}
			if !named {
				s.Annotations[meta.AnnotationKeyExternalCreatePending], s.Annotations[meta.AnnotationKeyExternalCreateSucceeded] = at, at
			}
		})
		g.taken()
		g.pass()
		if _, _, events := g.taken(); strings.Count(events, "Warning/ConnectionDetailsLost") != 1 {
			t.Errorf("%s: events %s", name, events)
		}
		g.restart()
		g.pass()
		if _, _, events := g.taken(); strings.Contains(events, "ConnectionDetailsLost") {
			t.Errorf("%s: told again: %s", name, events)
		}
		if got := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != "lost" {
			t.Errorf("%s: the object says %q", name, got)
		}
		if n := g.cloud.Count("Create"); n != 0 {
			t.Errorf("%s: %d calls of Create", name, n)
		}
	}
}

// A process that has published them does not say that they are lost while it cannot remove the annotation that says they are to be.
func TestPublishedDetailsAreNotLost(t *testing.T) {
	for name, tell := range map[string]bool{"they were told": true, "Create had none to tell": false} {
		synctest.Test(t, func(t *testing.T) {
			refused := false
			g := keyGallery(t)
			tells := g.cloud.After
			g.cloud.After = func(ctx context.Context, call string, mg resource.Managed) error {
				if refused = refused || call == "Create"; !tell {
					return nil
				}

				return tells(ctx, call, mg)
			}
			g.answer = func(_ context.Context, note string) error {
				if refused && strings.HasPrefix(note, "patch") && !strings.Contains(note, "secret") {
					return errLost
				}

				return nil
			}
			g.create(secretNamed("login"))
			for range 3 {
				_, _ = g.try()
			}
			refused = false
			g.cloud.After = nil
			g.pass()
			g.pass()
			if _, _, events := g.taken(); strings.Contains(events, "ConnectionDetailsLost") {
				t.Errorf("%s: events %s", name, events)
			}
			if got, has := g.get().Annotations[meta.AnnotationKeyCreationDetails]; has || tell && g.key() != accessKey {
				t.Errorf("%s: the object says %q, and the Secret has %q", name, got, g.key())
			}
		})
	}
}

// That they are lost is told once, although it cannot be noted on the object.
func TestLostDetailsAreToldOnce(t *testing.T) {
	g := keyGallery(t)
	g.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
	g.create(func(s *volume.Snapshot) { // as a process has left it
		secretNamed("login")(s)
		s.Finalizers = []string{managed.FinalizerName}
		at := g.clock.Now().UTC().Format(time.RFC3339)
		s.Annotations = map[string]string{
			meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyCreationDetails: "pending",
			meta.AnnotationKeyExternalCreatePending: at, meta.AnnotationKeyExternalCreateSucceeded: at,
		}
	})
	refused := true
	g.answer = func(_ context.Context, note string) error {
		if refused && strings.HasPrefix(note, "patch") {
			return errLost
		}

		return nil
	}
	for range 3 {
		_, _ = g.try()
	}
	refused = false
	g.pass()
	if _, _, events := g.taken(); strings.Count(events, "Warning/ConnectionDetailsLost") != 1 {
		t.Errorf("events %s", events)
	}
	if got := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != "lost" {
		t.Errorf("the object says %q", got)
	}
}

// Outside of a call, and after it, telling does nothing.
func TestTellingOutsideOfCreate(t *testing.T) {
	managed.TellConnectionDetails(t.Context(), managed.ConnectionDetails{"key": []byte("x")})
	var late context.Context
	g := keyGallery(t)
	g.cloud.After = func(ctx context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			late = ctx
			managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": []byte("first")})
			value := []byte(accessKey)
			managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": value})
			clear(value)
		}

		return nil
	}
	g.create(secretNamed("login"))
	g.pass()
	managed.TellConnectionDetails(late, managed.ConnectionDetails{"key": []byte("late")})
	g.pass()
	if got := g.key(); got != accessKey {
		t.Errorf("the Secret has %q", got)
	}
}
