// Package docs keeps the pages of the folder docs consistent with the code.
//
// Parts of pages are generated from the code: the regions between "<!-- generated: NAME -->"
// and "<!-- end -->". Parts written by hand are checked: a reason, a metric or a name that a
// page lacks, or that is only on the page, fails a test. Start with pages_test.go, which lists
// the generated regions.
//
//	go test ./internal/docs -update
//
// writes the regions anew. The folder tutorial is the code of the page
// provider-by-hand.md.
package docs
