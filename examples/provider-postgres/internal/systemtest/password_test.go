package systemtest

import (
	"flag"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"

	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

var syncedWithin = flag.Duration("synced-within", 0, "how long after a corrected password an object may take to be "+
	"Synced; 0 means without a limit")

// TestPasswordCorrected changes the password of the provider in the server first, and in the Secret later. After that,
// the provider tries the old password once at most: with a call that had already read it.
func TestPasswordCorrected(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	mg := database(w, "mine")
	create(t, w, mg)
	w.Ready(t, mg)
	if err := w.Server.Exec(t.Context(), "ALTER ROLE provider PASSWORD 'another-one'; SELECT pg_terminate_backend(pid) "+
		"FROM pg_stat_activity WHERE usename = '"+pgserver.Provider+"'"); err != nil {
		t.Fatal(err)
	}
	connected(t, w, metav1.ConditionFalse, commonv1.ReasonUnauthorized)
	first := rejected(t, w)
	w.Until(t, "the old password is tried again", func() bool { return rejected(t, w) > first })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: testenv.SecretName}}
	patch := ctrlclient.MergeFrom(secret.DeepCopy())
	secret.StringData = map[string]string{"password": "another-one"}
	if err := w.Kube.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
	corrected, before := time.Now(), rejected(t, w)
	connected(t, w, metav1.ConditionTrue, commonv1.ReasonAvailable)
	says(t, w, mg, commonv1.ReasonReconcileSuccess)
	took := time.Since(corrected)
	if tries := rejected(t, w) - before; tries > 1 {
		t.Errorf("the old password was tried %d times after the Secret was corrected, want once at most", tries)
	}
	if *syncedWithin > 0 && took > *syncedWithin {
		t.Errorf("the object is synced %s after the Secret was corrected, want %s at most", took, *syncedWithin)
	}
	remove(t, w, mg)
}

// rejected returns how often the server has rejected the password of the provider.
func rejected(t *testing.T, w testenv.World) int {
	t.Helper()
	text, err := w.Server.Log()
	if err != nil {
		t.Fatal(err)
	}

	return strings.Count(text, `password authentication failed for user "`+pgserver.Provider+`"`)
}
