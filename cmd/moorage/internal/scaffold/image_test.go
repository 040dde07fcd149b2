//go:build !race

// What is tested here are other programs, which the race detector does not see: once is
// enough.

package scaffold_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestImages holds the two ways in which an image is made, and what runs it, to each other.
func TestImages(t *testing.T) {
	dockerfile := string(made(t, "Dockerfile"))

	var ko struct {
		DefaultBaseImage string
		Builds           []struct {
			Main           string
			Flags, LDFlags []string
		}
	}
	if err := yaml.Unmarshal(made(t, ".ko.yaml"), &ko); err != nil {
		t.Fatal(err)
	}

	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .* -o) /provider (\./cmd/provider)$`).FindStringSubmatch(
		dockerfile)
	if build == nil || len(ko.Builds) != 1 {
		t.Fatalf("nothing builds the provider:\n%s", dockerfile)
	}

	if !strings.Contains(dockerfile, "\nFROM "+ko.DefaultBaseImage+"\n") || ko.Builds[0].Main != build[2] {
		t.Errorf("the images are not the same: %+v\n%s", ko, dockerfile)
	}

	for _, flag := range append(ko.Builds[0].Flags, strings.Join(ko.Builds[0].LDFlags, " ")) {
		if !strings.Contains(build[1], flag) {
			t.Errorf("%s is a flag of ko's alone: %s", flag, build[1])
		}
	}

	if version := "\ngo 1.26"; !strings.Contains(dockerfile, "FROM golang:1.26 ") ||
		!strings.Contains(string(made(t, "go.mod")), version) {
		t.Errorf("the image is not built by the Go of the module:\n%s", dockerfile)
	}

	for _, runs := range []string{"deploy/base/deployment.yaml", "deploy/chart/templates/deployment.yaml"} {
		if !strings.Contains(dockerfile, "USER 65532:") || !strings.Contains(string(made(t, runs)), "runAsUser: 65532") {
			t.Errorf("%s runs another user than the image is made for", runs)
		}
	}

	// What the image is made by makes a program.
	dir := generated(t, with(t, cloud(), bucket()))
	run(t, dir, "bash", "-c", build[1]+" "+filepath.Join(t.TempDir(), "provider")+" "+build[2])

	listed(t, dir)

	// Docker has no checkout: the message says so, and names the line that is in the way.
	const way = "go mod download"

	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(dockerfile, "\nRUN "+way+"\n") || !strings.Contains(string(readme), way) ||
		strings.Contains(string(made(t, "README.md")), way) {
		t.Errorf("with a checkout one has to know of %q, and with a release not:\n%s", way, readme)
	}
}

// listed lets a project list what its program is made of, and looks for the library there.
func listed(t *testing.T, dir string) {
	t.Helper()

	run(t, dir, "make", "sbom")

	text, err := os.ReadFile(filepath.Join(dir, "bin", "provider-cloud.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}

	var list struct {
		SPDXVersion string
		Packages    []struct{ Name string }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}

	if list.SPDXVersion != "SPDX-2.3" || len(list.Packages) < 20 || list.Packages[0].Name != "example.org/provider-cloud" {
		t.Errorf("this is no list of what a provider is made of:\n%s", text)
	}
}
