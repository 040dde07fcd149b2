// Package docs keeps the pages of the folder docs consistent with the code.
//
// Regions of pages between "<!-- generated: NAME -->" and "<!-- end -->" are generated from the code. The other parts
// are written by hand and checked: a test fails if a page lacks a reason, a metric or a name of the code, or has one
// that does not exist. Start with pages_test.go, which lists the generated regions. This command writes them:
//
//	go test ./internal/docs -update
//
// The folder tutorial has the code of the page provider-by-hand.md, and the folder recipes that of the pages recipes.md
// and connection-details.md.
package docs
