package systemtest

import (
	"flag"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

var (
	databases = flag.Int("databases", 20, "how many databases there are in an outage")
	down      = flag.Duration("down", 0, "how long the server is down at least")
)

// TestOutage cuts the provider from its server: the configuration says so once, objects at rest are not written,
// and one for which a user waits says so once.
func TestOutage(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	var all []*v1alpha1.Database
	for i := range *databases {
		mg := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: fmt.Sprintf("db-%03d", i)}}
		create(t, w, mg)
		all = append(all, mg)
	}
	for _, mg := range all {
		w.Ready(t, mg)
	}
	mend, err := w.Proxy.Break(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := time.After(*down)
	connected(t, w, metav1.ConditionFalse, commonv1.ReasonExternalSystemUnavailable)
	late := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "late"}}
	create(t, w, late)
	says(t, w, late, commonv1.ReasonExternalSystemUnavailable)
	all[0].Spec.ForProvider.ConnectionLimit = new(int32(3))
	if err := w.Kube.Update(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	says(t, w, all[0], commonv1.ReasonExternalSystemUnavailable)
	<-ended
	unwritten(t, w, all[1:])
	for name, most := range map[string]int{"default": 1, "late": 1, all[0].GetName(): 1, all[1].GetName(): 0} {
		if got := warnings(t, w, name); len(got) > most {
			t.Errorf("%d warnings about %s, want %d at most: %q", len(got), name, most, got)
		}
	}

	if err := mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected(t, w, metav1.ConditionTrue, commonv1.ReasonAvailable)
	w.Ready(t, late)
	w.Until(t, "the change of a user is made", func() bool {
		return w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(all[0]), all[0]) == nil &&
			all[0].Status.AtProvider.ConnectionLimit != nil && *all[0].Status.AtProvider.ConnectionLimit == 3
	})
	for _, mg := range append(all, late) {
		if err := w.Kube.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}
	for _, mg := range append(all, late) {
		w.Gone(t, mg)
	}
}

// TestPasswordCorrected changes the password of the provider in the server first, and in the Secret later.
func TestPasswordCorrected(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	mg := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "mine"}}
	create(t, w, mg)
	w.Ready(t, mg)
	if err := w.Server.Exec(t.Context(), "ALTER ROLE provider PASSWORD 'another-one'; SELECT pg_terminate_backend(pid) "+
		"FROM pg_stat_activity WHERE usename = '"+pgserver.Provider+"'"); err != nil {
		t.Fatal(err)
	}
	connected(t, w, metav1.ConditionFalse, commonv1.ReasonUnauthorized)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: testenv.SecretName}}
	patch := ctrlclient.MergeFrom(secret.DeepCopy())
	secret.StringData = map[string]string{"password": "another-one"}
	if err := w.Kube.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
	corrected := time.Now()
	connected(t, w, metav1.ConditionTrue, commonv1.ReasonAvailable)
	says(t, w, mg, commonv1.ReasonReconcileSuccess)
	t.Logf("the object is synced %s after the Secret was corrected", time.Since(corrected))
	remove(t, w, mg)
}

// connected waits for the condition Connected of the configuration.
func connected(t *testing.T, w testenv.World, status metav1.ConditionStatus, reason commonv1.ConditionReason) {
	t.Helper()
	w.Until(t, fmt.Sprintf("the configuration is Connected=%s by %s", status, reason), func() bool {
		config := &v1alpha1.ProviderConfig{}
		key := ctrlclient.ObjectKey{Namespace: w.Namespace, Name: "default"}
		if w.Kube.Get(t.Context(), key, config) != nil {
			return false
		}
		c := config.GetCondition(commonv1.TypeConnected)

		return c.Status == status && c.Reason == reason
	})
}

// says waits until the condition Synced of an object has a reason.
func says(t *testing.T, w testenv.World, mg resource.Managed, reason commonv1.ConditionReason) {
	t.Helper()
	w.Until(t, fmt.Sprintf("%s is Synced by %s", mg.GetName(), reason), func() bool {
		return w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg) == nil &&
			mg.GetCondition(commonv1.TypeSynced).Reason == reason
	})
}

// unwritten fails for each object that was written since it was read.
func unwritten(t *testing.T, w testenv.World, all []*v1alpha1.Database) {
	t.Helper()
	for _, mg := range all {
		now := &v1alpha1.Database{}
		if err := w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), now); err != nil {
			t.Fatal(err)
		}
		if now.ResourceVersion != mg.ResourceVersion {
			t.Errorf("%s was written in the outage: %s", mg.GetName(), now.GetCondition(commonv1.TypeSynced).Message)
		}
	}
}

// warnings returns the texts of the Warning events about an object.
func warnings(t *testing.T, w testenv.World, name string) []string {
	t.Helper()
	events := &corev1.EventList{}
	if err := w.Kube.List(t.Context(), events, ctrlclient.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range events.Items {
		if e.InvolvedObject.Name == name && e.Type == corev1.EventTypeWarning {
			out = append(out, e.Message)
		}
	}

	return out
}
