// Package recipes has the code of the pages docs/recipes.md and docs/connection-details.md. Each file answers one
// question of the pages. The pages show the declarations that they name, and a test keeps them equal. The tests run
// the clients against systems in memory, the larger ones with package conformance.
package recipes

import "github.com/moorage-dev/moorage/pkg/errors"

// The answers of the external systems of the recipes. An API of yours has errors of its own.
var (
	ErrNotFound = errors.New("it does not exist")
	ErrConflict = errors.New("the name is in use")
	ErrInUse    = errors.New("other objects depend on it")
)

// A Record is what the external systems of the recipes show of a resource.
type Record struct {
	ID, Name, Stamp string
	SizeGiB         int32
	Team            string
	Creating        bool
	Protected       bool
}
