package apisurface

import "strings"

const module = "github.com/moorage-dev/moorage/"

// Import paths under which one API is found.
var alike = [][]string{
	{"pkg/reconciler", "pkg/reconciler/managed"},
}

// twins returns all import paths under which the API of a package is found, itself among them.
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
