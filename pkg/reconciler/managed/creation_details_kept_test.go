package managed_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// refusingSecrets refuses writes of Secrets after Create until it is told otherwise.
func refusingSecrets(g gallery) *bool {
	refused := true
	g.answer = func(_ context.Context, note string) error {
		if refused && strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
			return errLost
		}

		return nil
	}

	return &refused
}

// What a Create that tells nothing leaves on the object: nothing, unless it may have had its effect and have lost what it would have told.
func TestACreateThatTellsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"it succeeds":                      {nil, ""},
		"it has made nothing for sure":     {external.NotCreated(errors.New("boom")), ""},
		"nobody knows whether it has made": {context.DeadlineExceeded, "pending"},
	} {
		g := newGallery(t, managed.WithCreationConnectionDetails())
		g.cloud.Before = failing("Create", tc.err)
		g.create(secretNamed("login"))
		_, _ = g.try()
		if got := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != tc.want {
			t.Errorf("%s: the object says %q, want %q", name, got, tc.want)
		}
	}
}

// A Secret that the object has already is asked whether it may be changed, in a way that changes nothing and cannot meet another of the same name.
func TestASecretThatTheObjectHasAlready(t *testing.T) {
	g := keyGallery(t)
	g.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "login", UID: "uid-of-login",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: volume.GroupVersion.String(), Kind: "Snapshot", Name: key.Name, UID: "uid-1", Controller: new(true)}},
		},
		Data: map[string][]byte{"other": []byte("kept")},
	})
	g.create(secretNamed("login"))
	g.pass()
	if s := g.secret("login"); g.key() != accessKey || string(s.Data["other"]) != "kept" || g.cloud.Count("Create") != 1 {
		t.Errorf("%d calls of Create, and the Secret has %v", g.cloud.Count("Create"), s.Data)
	}
	if first := g.requests[slices.IndexFunc(g.requests, func(r string) bool { return strings.HasPrefix(r, "patch secret") })]; first != `patch secret {"metadata":{"uid":"uid-of-login"},"data":{"moorage.dev.dry-run":""}}` {
		t.Errorf("it was asked by %s", first)
	}
}

// Somebody else's Secret is told of as such, also while it is being deleted, with the command that makes it the object's if it has no owner.
func TestSomebodyElsesSecretBeforeCreate(t *testing.T) {
	for name, going := range map[string]bool{"it stays": false, "it is being deleted": true} {
		g := keyGallery(t)
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "login", Finalizers: []string{"example.org/theirs"}}}
		g.Create(s)
		if going {
			g.Delete(s)
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		got := g.get()
		c := got.GetCondition(commonv1.TypeSynced)
		if g.cloud.Count("Create") != 0 || c.Reason != commonv1.ReasonConnectionSecretNotOwned || !strings.Contains(c.Message, "kubectl patch secret login --namespace "+key.Namespace) {
			t.Errorf("%s: it says %v", name, c)
		}
	}
}

// The first write of what Create told is given up after five seconds: the external name waits for it.
func TestTheFirstWriteOfDetailsIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		var waited []time.Duration
		g.answer = func(ctx context.Context, note string) error {
			if strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
				start := time.Now()
				<-ctx.Done()
				waited = append(waited, time.Since(start))

				return ctx.Err()
			}

			return nil
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		if len(waited) == 0 || waited[0] != 5*time.Second {
			t.Errorf("the writes were waited for for %v", waited)
		}
	})
}

// What was published late is not published again: a key that a user has put into the Secret since stays.
func TestDetailsArePublishedLateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		refused := refusingSecrets(g)
		g.create(secretNamed("login"))
		_, _ = g.try()
		*refused = false
		g.pass()
		if got := g.key(); got != accessKey {
			t.Fatalf("the Secret has %q", got)
		}
		s := g.secret("login")
		g.Change(s, func() { s.Data["key"] = []byte("rotated") })
		g.pass()
		if got := g.key(); got != "rotated" {
			t.Errorf("the Secret has %q again", got)
		}
	})
}

// The event about details that are lost has the reason that docs name, says which Secret lacks them, and counts as the write of a result.
func TestHowLostDetailsAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		secret func(*volume.Snapshot)
		want   string
	}{
		"a Secret":           {secretNamed("login"), "Secret login may lack"},
		"no Secret any more": {func(*volume.Snapshot) {}, "what is published may lack"},
	} {
		registry := prometheus.NewRegistry()
		g := keyGallery(t, managed.WithMetricsRegisterer(registry))
		g.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
		g.create(func(s *volume.Snapshot) {
			tc.secret(s)
			s.Finalizers = []string{managed.FinalizerName}
			at := g.clock.Now().UTC().Format(time.RFC3339)
			s.Annotations = map[string]string{
				meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyCreationDetails: "pending",
				meta.AnnotationKeyExternalCreatePending: at, meta.AnnotationKeyExternalCreateSucceeded: at,
			}
		})
		g.pass()
		told := false
		for _, e := range g.events {
			told = told || e.Reason == "ConnectionDetailsLost" && strings.Contains(e.Message, tc.want)
		}
		if !told {
			t.Errorf("%s: events %v", name, g.events)
		}
		if got := metric(t, registry, "moorage_managed_writes_total changed=true what=result"); got != 1 {
			t.Errorf("%s: writes %v", name, got)
		}
	}
}
