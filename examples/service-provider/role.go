package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A role has the rules of the provider on a cluster, by namespace. "" means all namespaces.
type role map[string][]rbacv1.PolicyRule

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// platformRole returns the role of the provider on the platform: the rules that the comments of serviceprovider and
// clusteraccess name, and those for its own Secrets. In the tour the provider has no other permissions.
func platformRole() role {
	platform := clustersv1alpha1.GroupVersion.Group

	return role{
		"": {
			rule(group.Group, "messagings", "list", "watch"),
			rule(platform, "accessrequests", "get", "list", "watch", "create", "patch", "delete"),
			rule(platform, "clusterrequests", "get", "list", "watch", "create", "patch", "delete"),
			rule(platform, "clusters", "get", "list", "watch"),
			rule("", "namespaces", "create"),
			rule("", "secrets", "get", "watch"),
		},
		keepNamespace: {rule("", "secrets", "get", "create", "delete")},
	}
}

// mayServe returns the permissions of the token for the onboarding cluster.
func mayServe() *clustersv1alpha1.TokenConfig {
	return &clustersv1alpha1.TokenConfig{Permissions: []clustersv1alpha1.PermissionsRequest{{Rules: []rbacv1.PolicyRule{
		rule(group.Group, "accounts", "get", "list", "watch", "patch"),
		rule(group.Group, "accounts/status", "patch"),
	}}}}
}

// user returns the client configuration of the provider for the platform, after its role is in effect.
func (t *walk) user(ctx context.Context) (*rest.Config, error) {
	config, err := t.platform.UserConfig(ctx, providerName)
	if err != nil {
		return nil, err
	}
	for namespace, rules := range platformRole() {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: providerName}
		subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: providerName}}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: providerName}
		objects := []client.Object{
			&rbacv1.Role{ObjectMeta: meta, Rules: rules},
			&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects},
		}
		if namespace == "" {
			ref.Kind = "ClusterRole"
			objects = []client.Object{
				&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
				&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects},
			}
		}
		for _, o := range objects {
			// They exist if the provider has run before.
			if err := client.IgnoreAlreadyExists(t.platform.Create(ctx, o)); err != nil {
				return nil, err
			}
		}
	}

	return config, t.permitted(ctx, config)
}

// permitted waits until the API server has observed the roles.
func (t *walk) permitted(ctx context.Context, config *rest.Config) error {
	user, err := client.New(config, client.Options{Scheme: t.scheme})
	if err != nil {
		return err
	}

	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, t.patience, true,
		func(ctx context.Context) (bool, error) {
			kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: keepNamespace, Name: "none"}}

			return user.List(ctx, &MessagingList{}) == nil && resource.IsNotFound(user.Delete(ctx, kept)), nil
		})
}
