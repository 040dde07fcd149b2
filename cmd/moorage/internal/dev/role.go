package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// permit applies the generated role, and returns the kubeconfig of a user with this role alone: what the role does not
// permit fails here as it does in production. It waits until the API server applies the role. Without a generated role
// the kubeconfig is that of the administrator.
func (s *session) permit(ctx context.Context) (kubeconfig string, err error) {
	role, err := read(filepath.Join(s.Dir, "package", "rbac", "role.yaml"))
	if err != nil {
		return "", err
	}

	if len(role) == 0 {
		s.say("there is no package/rbac/role.yaml, so the provider may do everything")

		return s.kubeconfig, nil
	}

	if len(role) != 1 || role[0].Kind != "ClusterRole" {
		return "", errors.New("package/rbac/role.yaml is not the role that make generate makes: run it, and keep its name")
	}

	if err := s.cluster.apply(ctx, append(role, binding(role[0].Metadata.Name))); err != nil {
		return "", err
	}

	if kubeconfig, err = s.account(ctx, role[0].Metadata.Name); err != nil {
		return "", err
	}

	user, err := open(kubeconfig)
	if err != nil {
		return "", err
	}
	defer user.http.CloseIdleConnections()

	return kubeconfig, s.server.awaits(ctx, settling, func() error {
		return user.call(ctx, http.MethodGet, "/api/v1/namespaces/kube-system", nil, nil)
	})
}

// binding returns the object that binds a role to the user of the same name.
func binding(role string) object {
	o := object{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}
	o.Metadata.Name = role
	o.text = fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: %[1]s
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: %[1]s
subjects:
  - apiGroup: rbac.authorization.k8s.io
    kind: User
    name: %[1]s
`, role)

	return o
}

// account writes a kubeconfig for a user, which is valid for a day, and returns its path.
func (s *session) account(ctx context.Context, user string) (string, error) {
	var out bytes.Buffer

	cmd := s.command(ctx, s.binary, "kubeconfig", "--dir", "cluster", "--user", user)
	cmd.Stdout = &out

	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot make a kubeconfig for the provider: %w", err)
	}

	kubeconfig := filepath.Join(s.Dir, "cluster", "provider.kubeconfig")

	return kubeconfig, os.WriteFile(kubeconfig, out.Bytes(), 0o600)
}
