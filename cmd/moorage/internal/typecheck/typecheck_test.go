package typecheck_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/typecheck"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// TestCheck adds files to a module whose package internal/api was changed.
func TestCheck(t *testing.T) {
	there := fstest.MapFS{
		"internal/api/client.go": file("package api\n\ntype Client struct{ dsn string }\n\n" +
			"func (c Client) Close() {}\n"),
		"internal/api/broken.go":      file("package api\n\nfunc {"),
		"internal/api/other_test.go":  file("package api\n\nfunc helper() int { return 1 }\n"),
		"internal/api/other_plan9.go": file("package api\n\nfunc (c Client) Call() {}\n"),
	}

	cases := map[string]struct {
		reason string
		added  map[string][]byte
		want   []string
	}{
		"Fits": {"It uses what is there, and what other modules have.", map[string][]byte{
			"internal/role/role.go": []byte(`package role

import (
	"example.org/lib"
	"example.org/p/internal/api"
)

func f(c api.Client) error { c.Close(); return lib.Wrap(lib.Do(c)) }
`)}, nil},
		"Missing": {"A method is missing, but for a system that is not this one. It is reported once.", map[string][]byte{
			"internal/role/role.go": []byte(`package role

import "example.org/p/internal/api"

func f(c api.Client) { c.Call(); c.Call() }
`)}, []string{"internal/role/role.go:5:26: c.Call undefined (type api.Client has no field or method Call)"}},
		"Same": {"The package itself has the new file, and its tests have another one.", map[string][]byte{
			"internal/api/role.go":      []byte("package api\n\nvar r = request{}\n"),
			"internal/api/role_test.go": []byte("package api\n\nvar n = helper()\n"),
		}, []string{"internal/api/role.go:3:9: undefined: request"}},
		"External": {"External tests see what is exported.", map[string][]byte{
			"internal/api/role_test.go": []byte(`package api_test

import "example.org/p/internal/api"

var _ = api.Fake{}
`),
		}, []string{"internal/api/role_test.go:5:13: undefined: api.Fake"}},
		"Instead": {"It replaces the file that is there.", map[string][]byte{
			"internal/api/client.go": []byte("package api\n\ntype Client struct{}\n"),
			"internal/role/role.go": []byte(`package role

import "example.org/p/internal/api"

func f(c api.Client) { c.Close() }
`),
		}, []string{"internal/role/role.go:5:26: c.Close undefined (type api.Client has no field or method Close)"}},
		"Elsewhere": {"Only packages below internal are checked.", map[string][]byte{
			"apis/v1/role.go": []byte("package v1\n\nvar r = request{}\n"),
		}, nil},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := typecheck.Check(there, "example.org/p", tc.added)
			if err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, f := range found {
				got = append(got, f.String())
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	broken := map[string][]byte{"internal/api/a.go": []byte("package {")}
	if _, err := typecheck.Check(there, "example.org/p", broken); err == nil {
		t.Error("an added file is no Go, and there is no error")
	}
}
