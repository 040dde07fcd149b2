// Package docs holds the pages of the folder docs to the code they are about.
//
// What a page can take from the code is generated into it: the regions between
// "<!-- generated: NAME -->" and "<!-- end -->". What a person has to write is
// checked: a reason, a metric or a name that a page leaves out, or that is only
// on the page, fails a test. Where to start: pages_test.go, which lists what is
// generated where.
//
//	go test ./internal/docs -update
//
// writes the regions anew. The folder tutorial is the code of the page
// provider-by-hand.md.
package docs
