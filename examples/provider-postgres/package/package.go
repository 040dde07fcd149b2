// Package manifests has what a cluster needs for the provider: its kinds and its role.
package manifests

import "embed"

// files are the manifests in the folders crds and rbac; the compiler fills it.
//
//go:embed crds/*.yaml rbac/role.yaml
var files embed.FS

// Files returns the manifests in the folders crds and rbac.
func Files() embed.FS { return files }
