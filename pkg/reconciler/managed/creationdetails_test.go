package managed_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const accessKey = "correct horse battery staple"

// keyGallery returns a gallery whose Create returns an access key, which Observe does not return again.
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

// TestWhatOnlyCreateKnowsIsPublished verifies that details that only Create returns are published before Observe,
// and stay when Observe returns others.
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

// TestDetailsOfACreateThatFails verifies that details are published although Create fails, because it may have had
// an effect.
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

// ownSecret returns a Secret as the object has published it.
func (g gallery) ownSecret(immutable *bool) *corev1.Secret {
	g.Helper()
	o := g.get()
	owner := metav1.OwnerReference{
		APIVersion: "example.moorage.dev/v1", Kind: "Snapshot", Name: o.Name, UID: o.UID,
		Controller: new(true),
	}

	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "login",
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Immutable: immutable, Data: map[string][]byte{"key": []byte("of before")},
	}
}

// TestNoCreateWithoutASecretForItsDetails verifies that Create is not called while the Secret could not be written.
func TestNoCreateWithoutASecretForItsDetails(t *testing.T) {
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "login"},
		Data:       map[string][]byte{"key": []byte("theirs")},
	}
	refusing := func(g gallery, prefix, with string) {
		g.answer = func(_ context.Context, note string) error {
			if strings.HasPrefix(note, prefix) && strings.Contains(note, with) {
				return errLost
			}

			return nil
		}
	}
	for name, tc := range map[string]struct {
		spoil func(g gallery)
		says  string
	}{
		"it is somebody else's": {func(g gallery) { g.Create(foreign.DeepCopy()) }, "name another"},
		"it may not be written": {func(g gallery) { refusing(g, "create secret", "") }, "cannot create"},
		"its data may not be": {func(g gallery) {
			g.Create(g.ownSecret(nil))
			refusing(g, "patch secret",
				`"data":{`)
		}, "cannot change"},
		"it is the object's, fixed": {func(g gallery) { g.Create(g.ownSecret(new(true))) },
			"secret login is immutable"},
	} {
		g := keyGallery(t)
		g.create(secretNamed("login"))
		tc.spoil(g)
		_, _ = g.try()
		if n := g.cloud.Count("Create"); n != 0 {
			t.Errorf("%s: %d calls of Create", name, n)
		}
		if got := g.get().GetCondition(commonv1.TypeSynced); got.Status != "False" ||
			!strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: it says %v", name, got)
		}
		if a := g.get().Annotations; a[meta.AnnotationKeyExternalCreatePending] != "" ||
			a[meta.AnnotationKeyCreationDetails] != "" {
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

// TestDetailsWaitForTheirSecret verifies that details are kept while the Secret cannot be written, and written
// before any external call.
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
		if g.key() != "" || g.get().Annotations[meta.AnnotationKeyExternalName] == "" ||
			g.get().Annotations[meta.AnnotationKeyCreationDetails] != "pending" {
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

// TestTheNameDoesNotWaitForTheSecret verifies that a hanging write of the Secret does not keep the external name
// from being stored.
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
		if a := g.get().Annotations; a[meta.AnnotationKeyExternalName] == "" ||
			a[meta.AnnotationKeyCreationDetails] != "pending" {
			t.Errorf("annotations %v", a)
		}
	})
}

// TestDetailsThatAProcessTookWithIt verifies that details that were lost with a process are reported once by an
// event, and by the object until a user has acted.
func TestDetailsThatAProcessTookWithIt(t *testing.T) {
	for name, named := range map[string]bool{"assigned names": false, "names of our choice": true} {
		g := keyGallery(t, managed.WithDeterministicExternalName(named))
		g.cloud.Named = named
		g.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
		g.create(func(s *volume.Snapshot) { // as that process has left it
			secretNamed("login")(s)
			s.Finalizers = []string{managed.FinalizerName}
			at := g.clock.Now().UTC().Format(time.RFC3339)
			s.Annotations = map[string]string{
				meta.AnnotationKeyExternalName:    "vol-0",
				meta.AnnotationKeyCreationDetails: "pending",
			}
			if !named {
				s.Annotations[meta.AnnotationKeyExternalCreatePending],
					s.Annotations[meta.AnnotationKeyExternalCreateSucceeded] = at, at
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

// TestPublishedDetailsAreNotLost verifies that a process that has published the details does not report them as
// lost while it cannot remove the annotation.
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

// TestLostConnectionDetailsAreReportedOnce verifies that lost details are reported once, although that cannot be
// stored on the object.
func TestLostConnectionDetailsAreReportedOnce(t *testing.T) {
	in := &objectstate.Handle{}
	g := keyGallery(t, managed.WithObjectStates(in))
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
	if got := g.remembered(in).Details; got != "lost" {
		t.Errorf("remembered is %q", got)
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

// TestTellingOutsideOfCreate verifies that TellConnectionDetails has no effect outside of Create, and after it.
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

// A retelling client returns these details from Observe.
type retelling struct {
	managed.ExternalClient
	details managed.ConnectionDetails
}

func (c retelling) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := c.ExternalClient.Observe(ctx, mg)
	o.ConnectionDetails = c.details

	return o, err
}

// TestAnEmptyObservationReplacesNothing verifies that an observation with an empty value, as of a system that masks
// it, leaves the details of Create.
func TestAnEmptyObservationReplacesNothing(t *testing.T) {
	for value, want := range map[string]string{"": accessKey, "rotated": "rotated"} {
		g := keyGallery(t)
		g.wrap(func(c managed.ExternalClient) managed.ExternalClient {
			return retelling{c, managed.ConnectionDetails{"key": []byte(value)}}
		})
		g.create(secretNamed("login"))
		g.pass()
		if got := g.key(); got != want {
			t.Errorf("told %q: the Secret has %q", value, got)
		}
	}
}

// TestARepeatedCreateThatTellsNothing verifies that a repeated Create without details keeps those of the first one,
// also while they wait for their Secret.
func TestARepeatedCreateThatTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t, managed.WithCreationTokens())
		g.cloud.Tokens = true
		calls := 0
		g.cloud.After = func(ctx context.Context, call string, mg resource.Managed) error {
			if call != "Create" {
				return nil
			}
			if calls++; calls > 1 {
				managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": {}})

				return nil
			}
			managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": []byte(accessKey)})
			managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"key": nil})
			delete(mg.GetAnnotations(), meta.AnnotationKeyExternalName)

			return context.DeadlineExceeded
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		if got := g.key(); got != accessKey {
			t.Errorf("after the first the Secret has %q", got)
		}
		_, _ = g.try()
		if got := g.key(); got != accessKey || calls != 2 {
			t.Errorf("the Secret has %q after %d calls of Create", got, calls)
		}
	})
}

// TestAKeyThatNoSecretHolds verifies that a key that no Secret can hold does not hold up the others, and that it is
// reported once, without its value.
func TestAKeyThatNoSecretHolds(t *testing.T) {
	const name, hidden = "tls/ca", "staple battery horse"
	for declared, want := range map[bool]string{true: "lost", false: ""} { // who does not declare it asks for no note
		in := &objectstate.Handle{}
		g := newGallery(t, managed.WithObjectStates(in))
		if declared {
			g = keyGallery(t, managed.WithObjectStates(in))
		}
		g.cloud.After = func(ctx context.Context, _ string, _ resource.Managed) error {
			managed.TellConnectionDetails(ctx,
				managed.ConnectionDetails{"key": []byte(accessKey), name: []byte(hidden)})

			return nil
		}
		g.create(secretNamed("login"))
		g.taken()
		g.pass()
		if got := g.key(); got != accessKey {
			t.Errorf("declared %t: the Secret has %q", declared, got)
		}
		var lost []string
		for _, e := range g.events {
			if e.Reason == "ConnectionDetailsLost" {
				lost = append(lost, e.Message)
			}
		}
		if len(lost) != 1 || !strings.Contains(lost[0], name) || strings.Contains(lost[0], hidden) {
			t.Errorf("declared %t: told %q", declared, lost)
		}
		if got, has := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != want || has != declared ||
			g.remembered(in).Details != want {
			t.Errorf("declared %t: the object says %q, and %q is remembered", declared, got, g.remembered(in).Details)
		}
		if i := slices.IndexFunc(g.requests,
			func(r string) bool { return strings.Contains(r, `/succeeded"`) }); i < 0 ||
			declared != strings.Contains(g.requests[i], `"`+meta.AnnotationKeyCreationDetails+`":"lost"`) {
			t.Errorf("declared %t: it is not noted along with the result: %v", declared, g.requests)
		}
		g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
		g.taken()
		g.pass()
		g.expect("", look, "")
	}
}

// TestDetailsWaitWhileNoSecretIsNamed verifies that details wait while the object names no Secret, and go to the
// one that it names later.
func TestDetailsWaitWhileNoSecretIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		tell := g.cloud.After
		g.cloud.After = func(ctx context.Context, call string, mg resource.Managed) error {
			if call == "Create" {
				g.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "login"}})
			}

			return tell(ctx, call, mg)
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		g.change(func(s *volume.Snapshot) { s.Spec.WriteConnectionSecretToRef = nil })
		g.taken()
		g.pass()
		if _, _, events := g.taken(); strings.Contains(events, "ConnectionDetailsLost") {
			t.Errorf("the process has them: %s", events)
		}
		g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
		g.change(secretNamed("other"))
		g.pass()
		s := g.secret("other")
		if s == nil || string(s.Data["key"]) != accessKey {
			t.Errorf("the Secret is %v", s)
		}
		if got, has := g.get().Annotations[meta.AnnotationKeyCreationDetails]; has {
			t.Errorf("they are published, and the object says %q", got)
		}
	})
}
