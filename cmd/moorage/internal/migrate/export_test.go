package migrate

import (
	"maps"
	"slices"
	"strings"
)

// Rewrite migrates one Go file, for tests.
func Rewrite(origin Origin, text string) (after string, decisions []Decision, err error) {
	m := &migration{module: "example.org/provider", rules: tables()[origin]}

	after, notes, err := m.source("file.go", text)
	for _, n := range notes {
		decisions = append(decisions, Decision{"file.go", n.line, n.what})
	}

	return after, decisions, err
}

// Compare compares versions.
var Compare = compare

// Packages returns the packages of this library that the tables write.
func Packages() []string {
	out := map[string]bool{}

	for _, r := range tables() {
		for _, pkg := range r.packages {
			out[pkg] = true
		}

		for _, t := range r.targets() {
			out[t.pkg] = true
		}
	}

	for _, pkg := range []string{
		"apis/common/v1", "pkg/controller", "pkg/errors", "pkg/event", "pkg/logging", "pkg/meta", "pkg/ratelimiter",
		"pkg/reconciler", "pkg/resource", "pkg/resource/fake", "pkg/test",
	} {
		out[pkg] = true
	}

	maps.DeleteFunc(out, func(pkg string, _ bool) bool {
		return !strings.HasPrefix(pkg, "pkg/") && !strings.HasPrefix(pkg, "apis/")
	})

	return slices.Sorted(maps.Keys(out))
}

// Targets returns the names of this library that the tables write.
func Targets() []string {
	var out []string

	for _, r := range tables() {
		for _, t := range r.targets() {
			if strings.HasPrefix(t.pkg, "pkg/") || strings.HasPrefix(t.pkg, "apis/") {
				out = append(out, t.pkg+" "+t.name)
			}
		}
	}

	return out
}

// targets returns those that are written, with their packages and names.
func (r rules) targets() (out []target) {
	for there, names := range r.names {
		for name, t := range names {
			if t.pkg == "" {
				t.pkg = r.packages[there]
			}

			if t.name == "" {
				t.name = name
			}

			if !t.drop && t.note == "" {
				out = append(out, t)
			}
		}
	}

	return out
}
