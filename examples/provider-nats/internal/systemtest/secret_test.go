package systemtest

import (
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestWatchedSecret: if the operator lets the provider watch the one Secret of a connection, a change is
// used at once: without a watch, the provider would read it again only after a minute.
func TestWatchedSecret(t *testing.T) {
	runProviderWith(t, func(o *provider.Options) { o.PollInterval, o.WatchSecrets = never, true })

	w := newWorld(t)
	w.letWatch()

	mg := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}
	begin := time.Now()
	w.create(mg)
	w.awaitReady(mg)

	n := int64(0)

	for tries := 1; ; tries++ {
		w.setSecret(map[string]string{"token": canary + "-wrong"})
		w.await(mg, "is refused with the new token", func() bool {
			if ready(mg) { // by the old contents: its user changes something
				n++
				w.patch(mg, func() { mg.Spec.ForProvider.MaxMsgs = &n })
			}

			return synced(mg) == "False/Unauthorized"
		})

		took := time.Since(begin)
		begin = time.Now()

		w.setSecret(map[string]string{"token": token})
		w.awaitReady(mg)

		if took < time.Minute {
			return
		}

		if tries == 5 { // a slow machine does not explain so many
			t.Fatalf("it took %s: the provider may have read the Secret because it does so each minute", took)
		}
	}
}

// letWatch permits the provider to watch the one Secret of the connection.
func (w *world) letWatch() {
	w.Helper()
	w.create(
		&rbacv1.Role{ObjectMeta: w.meta("watch"), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{login}, Verbs: []string{"watch"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: w.meta("watch"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "watch"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: provider.Name}},
		},
	)

	w.awaitWatch()
}

// awaitWatch waits until the API server applies the permission to watch the Secret: a refused watch is
// retried much later.
func (w *world) awaitWatch() {
	w.Helper()
	wait.Until(w.T, "the role counts", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: provider.Name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: w.ns, Verb: "watch", Resource: "secrets", Name: login,
			},
		}}
		must(w.T, kube.Create(w.Context(), review))

		return review.Status.Allowed
	})
}
