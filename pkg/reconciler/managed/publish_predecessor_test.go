package managed_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// secretOf creates the connection Secret "login" of a snapshot.
func (g gallery) secretOf(name string, uid types.UID) {
	g.Helper()
	owner := metav1.OwnerReference{
		APIVersion: volume.GroupVersion.String(), Kind: "Snapshot", Name: name, UID: uid, Controller: new(true),
	}
	g.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "login", OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: map[string][]byte{"password": []byte("former")},
	})
}

// TestSecretOfADeletedPredecessor verifies that an object waits for the garbage collector with a short backoff if the
// Secret belongs to an earlier object of its name, and publishes as soon as the Secret is gone.
func TestSecretOfADeletedPredecessor(t *testing.T) {
	g := newGallery(t, managed.WithKstatusConditions())
	g.secretOf(key.Name, "uid-0")
	g.create(secretNamed("login"))
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if got := g.pass().RequeueAfter; got != want {
			t.Errorf("requeued after %v, want %v", got, want)
		}
		g.condition(commonv1.TypeReady, "False/Creating")
		g.condition(commonv1.TypeReconciling, "True/ConnectionSecretNotOwned")
		c := g.condition(commonv1.TypeSynced, "False/ConnectionSecretNotOwned")
		if !strings.Contains(c.Message, "garbage collector") || strings.Contains(c.Message, "name another") {
			t.Errorf("message %q does not say that the object waits for the garbage collector", c.Message)
		}
	}
	for range 10 {
		g.pass()
	}
	if got, most := g.pass().RequeueAfter, 10*time.Minute; got != most {
		t.Errorf("requeued after %v, want at most %v", got, most)
	}
	_, _, events := g.taken()
	if want := "Normal/CreatedExternalResource, Warning/CannotPublishConnectionDetails"; events != want {
		t.Errorf("events %q, want %q", events, want)
	}
	if got := string(g.secret("login").Data["password"]); got != "former" {
		t.Errorf("the Secret has the password %q", got)
	}

	g.Delete(g.secret("login"))
	g.pass()
	g.condition(commonv1.TypeReady, "True/Available")
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
}

// TestSecretOfAnotherObject verifies that the Secret of an object with another name is no Secret of a predecessor.
func TestSecretOfAnotherObject(t *testing.T) {
	g := newGallery(t, managed.WithKstatusConditions())
	g.secretOf("another", "uid-0")
	g.create(secretNamed("login"))
	if got, want := g.pass().RequeueAfter, 10*time.Minute; got != want {
		t.Errorf("requeued after %v, want %v", got, want)
	}
	g.condition(commonv1.TypeStalled, "True/ConnectionSecretNotOwned")
}
