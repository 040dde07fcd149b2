package managed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func secretNamed(name string) func(*volume.Snapshot) {
	return func(s *volume.Snapshot) {
		s.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: name}
	}
}

// TestConnectionDetailsArePublished verifies that the Secret is written before Ready, owned by the object, and
// neither read nor written while nothing changes, also after a restart.
func TestConnectionDetailsArePublished(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "create secret") && g.get().GetCondition(commonv1.TypeReady).Status == "True" {
			t.Error("Ready before the Secret was written")
		}

		return nil
	}
	g.pass()
	g.expect("patch, patch, create secret, patch status", "Connect Observe Create Observe",
		"Normal/CreatedExternalResource")
	s := g.secret("login")
	if got := fmt.Sprintf("%s %s", s.Data["id"], s.Data["password"]); got != "vol-1 password-of-vol-1" {
		t.Errorf("secret: %s", got)
	}
	if !metav1.IsControlledBy(s, g.get()) || s.OwnerReferences[0].BlockOwnerDeletion != nil ||
		s.OwnerReferences[0].Kind != "Snapshot" {
		t.Errorf("owners: %+v", s.OwnerReferences)
	}
	g.condition(commonv1.TypeReady, "True/Available")

	g.pass()
	g.expect("", "Connect Observe", "")
	g.restart()
	g.pass()
	g.expect("", "Connect Observe", "")
	// It stays as it is from version to version: one that is written in another way is published again for all objects.
	if hash := g.get().Status.ConnectionDetailsHash; hash != "login/7ff2e520c31cdc07ec5f9a2b90bb4c8d" {
		t.Errorf("hash: %q", hash)
	}
}

// TestConnectionDetailsThatChange verifies that changed keys are patched, and other keys stay.
func TestConnectionDetailsThatChange(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	s := g.secret("login")
	g.Change(s, func() { s.Data["note"] = []byte("mine") })
	g.taken()

	d := g.cloud.Disks()[0]
	d.Password = "rotated"
	g.cloud.Put(d)
	for range 2 {
		g.pass()
	}
	g.expect("patch secret, patch status", "Connect Observe Connect Observe", "")
	if got := g.secret("login").Data; string(got["password"]) != "rotated" || string(got["note"]) != "mine" {
		t.Errorf("secret: %v", got)
	}
}

// TestConnectionSecretThatWasRemoved verifies that a deleted Secret is created again on a reconcile request.
func TestConnectionSecretThatWasRemoved(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	g.Delete(g.secret("login"))
	g.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
	g.taken()
	g.pass()
	g.expect("create secret, patch status", "Connect Observe", "Normal/ReconcileRequestHandled")
	if g.secret("login") == nil {
		t.Error("no secret")
	}
}

// TestTypeOfConnectionSecrets verifies that a new Secret has the type of the option, and an existing one keeps its
// type.
func TestTypeOfConnectionSecrets(t *testing.T) {
	const theirs corev1.SecretType = "connection.crossplane.io/v1alpha1"
	for name, tc := range map[string]struct {
		before, after corev1.SecretType
	}{
		"made with none, kept with one":    {"", theirs},
		"made with one, kept with none":    {theirs, ""},
		"made with one, kept with another": {theirs, "example.org/other"},
	} {
		g := newGallery(t, managed.WithConnectionSecretType(tc.before))
		g.create(secretNamed("login"))
		g.pass()
		g.o = append(g.o, managed.WithConnectionSecretType(tc.after))
		g.restart()
		d := g.cloud.Disks()[0]
		d.Password = "rotated"
		g.cloud.Put(d)
		for range 2 {
			g.pass()
		}
		if s := g.secret("login"); s.Type != tc.before || string(s.Data["password"]) != "rotated" {
			t.Errorf("%s: the Secret has the type %q and the password %q", name, s.Type, s.Data["password"])
		}
	}
}

// TestSecretsOfOthersAreLeftAlone verifies that the Secret of another owner is left alone and reported; the object
// is not Ready, and drift is corrected.
func TestSecretsOfOthersAreLeftAlone(t *testing.T) {
	g := newGallery(t)
	other := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "login"},
		Data:       map[string][]byte{"password": []byte("theirs")},
	}
	g.Create(other)
	g.create(secretNamed("login"))
	g.pass()
	g.expect("patch, patch, create secret, patch status", "Connect Observe Create Observe",
		"Normal/CreatedExternalResource, Warning/CannotPublishConnectionDetails")
	g.condition(commonv1.TypeSynced, "False/ConnectionSecretNotOwned")
	g.condition(commonv1.TypeReady, "False/Creating")
	if got := string(g.secret("login").Data["password"]); got != "theirs" {
		t.Errorf("password: %q", got)
	}

	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 3 })
	g.pass()
	if got := g.cloud.Disks()[0].SizeGiB; got != 3 {
		t.Errorf("size %d: a Secret stood in the way of an update", got)
	}

	g.change(secretNamed("mine"))
	g.pass()
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	g.condition(commonv1.TypeReady, "True/Available")
}

// TestPublisherOfTheAuthors verifies that an author's publisher is called once for the same details, and again
// after an error, which is redacted.
func TestPublisherOfTheAuthors(t *testing.T) {
	var got []string
	fail := errors.New("vault sealed")
	g := newGallery(t, managed.WithConnectionPublisher(managed.ConnectionPublisherFn(
		func(_ context.Context, _ resource.Managed, details managed.ConnectionDetails) (bool, error) {
			got = append(got, string(details["id"]))

			return true, fail
		})))
	g.create(nil)
	if _, err := g.try(); err == nil || !strings.Contains(err.Error(),
		"cannot publish connection details: vault sealed") {
		t.Errorf("error: %v", err)
	}
	g.condition(commonv1.TypeReady, "False/Creating")
	g.condition(commonv1.TypeSynced, "False/ReconcileError")
	fail = nil
	g.pass()
	g.pass()
	g.restart()
	g.pass()
	if want := "vol-1 vol-1"; strings.Join(got, " ") != want {
		t.Errorf("published %v, want %s", got, want)
	}
}

// TestNothingIsPublishedOfWhatIsDeleted verifies that a deleted object publishes nothing.
func TestNothingIsPublishedOfWhatIsDeleted(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	g.change(secretNamed("late"))
	g.delete()
	g.pass()
	if g.secret("late") != nil {
		t.Error("a secret was written")
	}
}
