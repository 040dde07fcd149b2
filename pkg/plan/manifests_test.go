package plan

import (
	"os"
	"strings"
	"testing"
)

// TestRead verifies which documents of a file are manifests.
func TestRead(t *testing.T) {
	const bucket = "apiVersion: example.org/v1\nkind: Bucket\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		text  string
		where []string
		err   string
	}{
		"empty": {text: "# nothing\n---\n\n---\n"},
		"one":   {text: bucket, where: []string{"f, document 1"}},
		"two": {
			text:  "---\n" + bucket + "---\n# only a comment\n---\n" + bucket,
			where: []string{"f, document 1", "f, document 3"},
		},
		"JSON": {text: `{"apiVersion":"example.org/v1","kind":"Bucket"}`, where: []string{"f, document 1"}},
		"CRLF": {text: strings.ReplaceAll(bucket, "\n", "\r\n"), where: []string{"f, document 1"}},
		"a list": {
			text:  "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B}\n",
			where: []string{"f, document 1, item 1", "f, document 1, item 2"},
		},
		"text":      {text: "just text", err: "cannot read f, document 1"},
		"no kind":   {text: "apiVersion: v1\n", err: "it has to be a manifest with apiVersion and kind"},
		"tab":       {text: "a:\n\t- b", err: "cannot read f, document 1"},
		"too large": {text: bucket + "#" + strings.Repeat("x", maxManifest), err: "the API server stores at most"},
		"not UTF-8": {text: "apiVersion: v1\nkind: \"\xff\xfe\"\n", err: "cannot read f, document 1"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := read("f", strings.NewReader(c.text))
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if len(all) != len(c.where) {
				t.Fatalf("%d manifests", len(all))
			}
			for i, m := range all {
				if m.where != c.where[i] {
					t.Errorf("at %q, want %q", m.where, c.where[i])
				}
			}
		})
	}
}

// TestReadFiles verifies errors of files.
func TestReadFiles(t *testing.T) {
	empty := t.TempDir() + "/empty.yaml"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		empty: "there is no manifest in it", t.TempDir(): "is a folder", "/does/not/exist": "name another file by -f",
	} {
		if _, err := readFiles([]string{file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", file, err, want)
		}
	}
	if all, err := readFiles(nil); err != nil || all != nil {
		t.Errorf("no files: %v, %v", all, err)
	}
}

// TestDefaultNamespace verifies that a manifest without a namespace is planned where kubectl would apply it.
func TestDefaultNamespace(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: x}}],
contexts: [{name: c, context: {cluster: c, namespace: sea}}, {name: d, context: {cluster: c, namespace: land}}]}`
	of := func(content string) string {
		path := t.TempDir() + "/kubeconfig"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}

		return path
	}
	for name, c := range map[string]struct {
		f    flags
		env  string
		want string
	}{
		"flag":         {f: flags{namespace: "air", kubeconfig: of(kubeconfig)}, want: "air"},
		"context":      {f: flags{kubeconfig: of(kubeconfig)}, want: "sea"},
		"environment":  {env: of(kubeconfig), want: "sea"},
		"no namespace": {f: flags{kubeconfig: of(strings.ReplaceAll(kubeconfig, "namespace: sea", ""))}, want: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.env)
			if got, err := c.f.defaultNamespace(); err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
	if _, err := (flags{kubeconfig: of("no kubeconfig")}).defaultNamespace(); err == nil ||
		!strings.Contains(err.Error(), "--namespace") {
		t.Errorf("of a file that is no kubeconfig: %v", err)
	}
}
