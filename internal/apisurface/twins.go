package apisurface

import "strings"

const module = "github.com/moorage-dev/moorage/"

// Import paths of packages with the same API.
var alike = [][]string{
	{"pkg/reconciler", "pkg/reconciler/managed"},
}

// twins returns the import paths of all packages with the API of a package, and its own.
func twins(path string) []string {
	below := strings.TrimPrefix(path, module)
	for _, group := range alike {
		for _, p := range group {
			if p == below {
				return imported(group)
			}
		}
	}
	return imported([]string{below})
}

func imported(below []string) []string {
	out := make([]string, 0, len(below))
	for _, p := range below {
		out = append(out, module+p)
	}
	return out
}
