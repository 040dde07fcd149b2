package dev

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExplain shows what kubectl moorage says about the examples, or how to install it.
func TestExplain(t *testing.T) {
	const script = "#!/bin/sh\necho \"$@\"\nif [ \"$1\" = drift ]; then exit 2; fi\n"

	installed := t.TempDir()
	if err := os.WriteFile(filepath.Join(installed, plugin), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}

	bucket := object{APIVersion: "example.org/v1", Kind: "Bucket"}
	bucket.Metadata.Name = "photos"

	cases := map[string]struct {
		reason   string
		path     string
		examples []object
		want     string
	}{
		"Installed": {"It is run, and an answer that is no is no error.", installed, []object{bucket},
			"moorage: kubectl moorage drift -A:\n  drift -A --kubeconfig the-kubeconfig\n" +
				"moorage: kubectl moorage drift -A has ended: exit status 2\n" +
				"moorage: kubectl moorage why bucket/photos -n default:\n" +
				"  why bucket/photos -n default --kubeconfig the-kubeconfig\n" +
				"moorage: kubectl moorage history bucket/photos -n default shows what happened to it\n"},
		"NotInstalled": {"The line that installs it is printed.", t.TempDir(), []object{bucket},
			"moorage: kubectl moorage drift, why and history show what differs, why, and what happened, such as " +
				"kubectl moorage why bucket/photos -n default; to install it: " + installPlugin + "\n"},
		"NoExamples": {"Nothing can be shown.", installed, nil, ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", tc.path)

			out := &bytes.Buffer{}
			s := &session{Options: Options{Dir: t.TempDir(), Out: out}, kubeconfig: "the-kubeconfig"}
			s.explain(t.Context(), tc.examples)

			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
