package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestPermit finds the generated role.
func TestPermit(t *testing.T) {
	cases := map[string]struct {
		reason, role string
		want         string // in the error; empty for the kubeconfig of the administrator
	}{
		"None":  {"A provider may have no generated role.", "", ""},
		"Other": {"A Role permits nothing in other namespaces.", "kind: Role\nmetadata: {name: a}\n", "run it"},
		"Two":   {"Which of them is it?", "kind: ClusterRole\n---\nkind: ClusterRole\n", "run it"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &session{Options: Options{Dir: t.TempDir(), Out: &record{}}, kubeconfig: "admin"}

			if tc.role != "" {
				file := filepath.Join(s.Dir, "package", "rbac", "role.yaml")
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}

				if err := os.WriteFile(file, []byte(tc.role), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			got, err := s.permit(t.Context())
			if tc.want == "" && (err != nil || got != "admin") {
				t.Errorf("%s\ngot %q: %v", tc.reason, got, err)
			}

			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestBinding binds a role to the user of the same name.
func TestBinding(t *testing.T) {
	var got struct {
		RoleRef  struct{ Kind, Name string }
		Subjects []struct{ Kind, Name string }
	}

	o := binding("provider-cloud")
	if err := yaml.Unmarshal(o.text, &got); err != nil {
		t.Fatal(err)
	}

	if got.RoleRef.Name != "provider-cloud" || len(got.Subjects) != 1 || got.Subjects[0].Kind != "User" ||
		got.Subjects[0].Name != "provider-cloud" || o.Metadata.Name != "provider-cloud" {
		t.Errorf("the binding is %s", o.text)
	}
}
